"""``docshare explain``: how a session was measured and classified. ``story`` builds the lines, ``command`` prints."""
