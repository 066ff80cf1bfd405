"""The server. Shells (``api``, ``web``, ``workers``) call services, services ask rules and tables.

Read ``serve`` first, then ``app`` and ``runtime``: everything outside of the process is one object, which tests
replace. ``http`` receives requests, ``outbound`` makes every connection to other hosts, ``store`` keeps rows and bytes,
``pdf`` and ``office`` run the confined processes that read documents.
"""
