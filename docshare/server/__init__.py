"""The server. ``api``, ``web`` and ``workers`` import ``services``; ``services`` import ``rules`` and ``store``.

Read ``serve`` first, then ``instance``, which opens a data directory, ``app`` and ``runtime``: everything outside of
the process is one object, which tests replace. ``faults`` recognizes a full disk and a lost database, and
``rate_limits`` counts the requests of callers and readers. ``http`` receives requests, ``outbound`` makes every
connection to other hosts, ``store`` keeps rows and bytes, ``pdf`` and ``office`` run the confined processes that read
documents.
"""
