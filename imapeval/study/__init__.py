"""Studies: arrays in, numbers out."""
