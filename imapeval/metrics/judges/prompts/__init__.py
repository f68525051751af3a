"""What judges are shown: custom prompts, imaps as text, passages of a knowledge source."""
