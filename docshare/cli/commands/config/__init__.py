"""``docshare config``: show, change and edit ``config.toml``, with the origin of each value.

Read ``group`` first: every command is in it. ``values`` parses and validates the value of each key, ``edit`` opens an
editor on a copy. The file itself is read and written by ``cli.local.config``. Of the other commands, it imports only
``profile``.
"""
