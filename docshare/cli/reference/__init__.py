"""Man pages, completion scripts and tables, generated from the command tree.

Read ``tree`` first: the command tree as plain data. ``python -m docshare.cli.reference`` writes the files.
"""
