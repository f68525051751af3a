"""What a text denies, advises against or answers with no, and how far a negation reaches."""
