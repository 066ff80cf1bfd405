"""``docshare settings``: read and write the settings of files.

Read ``declarations`` first: one row per key, built from the contract. A value goes from ``options`` and ``values``
through ``gather`` to ``changes``; ``write`` sends and verifies it.
"""
