"""Reports of a run: summary, thresholds, HTML page, JUnit XML and Markdown."""
