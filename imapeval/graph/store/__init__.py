"""The compiled graph in one SQLite file: schema, writing, and reading by id, name or language."""
