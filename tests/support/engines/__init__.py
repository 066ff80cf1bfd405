"""The stores below an instance: PostgreSQL, Redis, a bucket, and rows and bytes that tests read or write directly.

Read ``database`` first; ``postgresql``, ``redis`` and ``object_store`` start an engine. May import the other helpers.
"""
