"""imapScore inside other frameworks: a module for each, which is imported by name and requires that framework.

`adapter` is what most of them share.
"""
