"""Analysis of texts and phrases: language, markup, normal forms, negation, opposites, amounts."""
