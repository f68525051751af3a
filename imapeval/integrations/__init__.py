"""imapScore inside other frameworks: a file for each, which is imported by name and needs that framework.

`exchange` is what some of them share.
"""
