"""Reports of a study: one self-contained HTML page, CSV and LaTeX tables."""
