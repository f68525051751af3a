"""Whether scores stay where they are when nothing that matters has changed."""
