"""Explains scores: facts side by side, evidence of matches, and context for other judges."""
