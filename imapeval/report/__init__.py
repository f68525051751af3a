"""The numbers of a run in short, and one self-contained HTML page."""
