"""Text in one place: language, markup, normal forms, negation, sides, amounts."""
