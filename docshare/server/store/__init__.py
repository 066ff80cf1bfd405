"""Persistent state: the database and its schema, blobs, the vault, the lock of the data directory.

Read ``database`` first. ``tables`` has the models, ``schema`` the migration steps, ``instance`` opens a data directory.
"""
