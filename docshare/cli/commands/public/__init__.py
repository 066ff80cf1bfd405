"""``docshare public``: commands that need no account and send no credential."""
