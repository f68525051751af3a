"""The web app of a study: the raters' pages and the owner's."""
