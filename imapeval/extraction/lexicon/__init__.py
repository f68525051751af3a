"""The offline extractor: cue words, clauses and the names of the graph. Deterministic; no key, no GPU."""
