"""``docshare readership``: see who read a file, and how. Read ``group`` first; it loads each command when it runs."""
