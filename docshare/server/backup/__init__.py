"""Backups of an instance: taken beside a running server, verified before they are put in place, and the check of a data
directory. Nothing here needs the server to run; only files are read and written (``operations.md``, Administration).
"""
