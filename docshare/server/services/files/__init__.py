"""Files from upload to purge: intake, settings, replacement, trash, view limits, hotspots and assets.

Read ``intake`` first: it checks, stores and inspects a document, then inserts its row. ``files`` has the operations of
an owner on one file, ``settings`` and ``replace`` change it, and ``trash``, ``burn`` and ``purge`` end it.
``sealed_blobs`` stores and opens bytes, ``removals`` deletes those of deleted rows. Imports neither Flask nor ``api``
nor ``web``.
"""
