"""``docshare settings``: read and write the settings of files.

Read ``declarations`` first: one row per key, made from the contract. A value goes from ``options`` and ``values``
through ``gather`` to ``changes``, and ``write`` sends and verifies it.
"""
