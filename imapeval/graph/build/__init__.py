"""Building a graph from ontology files: grouping records of one concept, merging, reporting."""
