"""What several ontology readers share: ids, tables, types and names."""
