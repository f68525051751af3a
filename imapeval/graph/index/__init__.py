"""Searching names: by sentence vectors with FAISS, and by character n-grams."""
