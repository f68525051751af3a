"""File formats: what recognises a file, and a reader of its rows for each format."""
