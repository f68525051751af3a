"""What stands around any model: retries, rate limits, the completion cache and the budget."""
