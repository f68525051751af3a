"""Providers of language models: each turns a request into a completion, and knows nothing of retries, limits or budgets."""
