"""imapScore inside other frameworks: a module for each, which is imported by name and requires that framework.

`exchange` is what some of them share.
"""
