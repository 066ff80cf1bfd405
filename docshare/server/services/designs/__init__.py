"""Designs of the design tool: ``tokens`` verifies its tokens, ``publish`` stores a design, ``designs`` binds it to a
file.
"""
