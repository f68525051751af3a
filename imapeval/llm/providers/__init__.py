"""Providers: each turns a request into a completion, and knows nothing of retries, limits, caches or budgets."""
