"""Back up, verify, restore and check an instance.

Only files are read and written, so the server may be stopped; a backup or a check may also run beside the server.
"""
