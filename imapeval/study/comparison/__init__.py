"""Which of two metrics agrees better with the raters, and how many answers it takes to tell."""
