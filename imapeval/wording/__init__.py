"""What the wording of a value alone says, for whoever compares two: without a graph, an encoder or a model."""
