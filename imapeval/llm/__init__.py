"""Language models behind one small protocol: a `Request` goes in, a `Completion` comes out."""
