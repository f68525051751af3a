"""What can be said of systems with imperfect metrics and few ratings."""
