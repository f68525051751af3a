"""A scorer behind HTTP, for pipelines in other languages: what `imapeval serve` starts."""
