"""Man pages, completion scripts and the data of the manual, generated from the command tree.

Read ``tree`` first: the command tree as plain data. It imports every command; only ``completion.scripts`` imports it.
``python -m docshare.cli.reference`` writes the files.
"""
