"""From text to imap."""
