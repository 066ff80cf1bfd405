"""Persistent state: rows, document bytes, encrypted secrets, the lock of the data directory.

Read ``database`` first, then ``tables``, which has the models and every statement that names a table; ``migrations``
creates and upgrades the schema. ``database_file`` opens the database of a backup,
``copying`` copies all tables to another database, ``inspection`` checks a running one: as ``database`` and
``postgresql`` do, these only contain statements that are the same for every table, or about the engine. It imports
neither services nor ``http``.

**Locks and the order of the feed.** A write names the account whose rows it protects, and two writes of one account
never overlap: a check such as "has this account a free slot" and the change that follows are one step. SQLite has one
lock for all. PostgreSQL takes an advisory lock of the account until after the commit, because its sequences assign
ids before it: without that lock a reader could move a cursor past a row that is committed later. Facts of all
accounts (custom links, short ids) are protected by unique constraints, and a write that names no account runs alone.
"""
