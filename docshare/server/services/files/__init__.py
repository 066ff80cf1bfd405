"""Files: intake, settings, replacement, trash, purge, and the rows of one file. Read ``intake`` first."""
