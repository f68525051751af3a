"""Compare two phrases by their wording."""
