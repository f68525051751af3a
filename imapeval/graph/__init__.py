"""The medical knowledge graph: concepts, names, is-a, the name index and the linker."""
