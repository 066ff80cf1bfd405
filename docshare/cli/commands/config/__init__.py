"""``docshare config``: show, change and edit ``config.toml``. ``values`` knows what each key may be set to."""
