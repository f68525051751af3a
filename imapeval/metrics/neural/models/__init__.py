"""Loading neural models: weights, checkpoints, batches, token embeddings."""
