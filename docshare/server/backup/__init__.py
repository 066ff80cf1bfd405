"""Back up, verify, restore, check and repair an instance.

Read ``making`` and ``restoring`` first; ``manifest`` describes the archive. Only files are read and written, so the
server may be stopped; a backup or a check may also run beside the server. It imports ``store``, but no service.
"""
