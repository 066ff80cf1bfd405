"""``docshare config``: show, change and edit ``config.toml``, with the origin of each value.

Read ``group`` first: every command is in it. ``values`` parses and validates the value of each key, ``edit`` opens an
editor on a copy, and ``default_profile`` changes the default profile, also for ``docshare profile``. The file itself is
read and written by ``cli.local.config``. It imports no other command.
"""
