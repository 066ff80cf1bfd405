"""``docshare readership``: who read a file, and how. Read ``group`` first; each command is loaded when it runs."""
