"""Agreement of scores with ratings as correlations, pooled or within groups."""
