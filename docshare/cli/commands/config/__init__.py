"""``docshare config``: show, change and edit ``config.toml``. ``values`` validates the value of each key. Read
``group``.
"""
