"""Files: intake, settings, replacement, trash, purge, and what hangs on one file. Read ``intake`` first."""
