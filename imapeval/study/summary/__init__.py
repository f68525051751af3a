"""A whole study: all its results, conclusions drawn from them, and a checklist of what a paper has to report."""
