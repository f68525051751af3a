"""Where a metric agrees with the raters and where it does not."""
