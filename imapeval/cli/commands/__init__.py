"""The commands of `imapeval`, one module each."""
