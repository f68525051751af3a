"""The offline extractor: cue words, clauses and the names of the graph. Deterministic; no model, no key, no GPU."""
