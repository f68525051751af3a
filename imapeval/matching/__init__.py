"""How two values relate: by text, by graph, by encoder, and in which order."""
