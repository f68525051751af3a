"""Readers of ontology files: one module a format; `formats.py` lists them."""
