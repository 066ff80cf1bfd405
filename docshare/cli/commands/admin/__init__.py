"""``docshare admin``: manage an instance. Read ``group`` first; each command is loaded when it runs.

Commands use ``docshare.cli.framework.admin_channel`` to reach the running server; ``backup``, ``restore`` and ``check``
open the data directory directly: they import the server, but only inside functions. Of the other commands, it imports
only ``invites`` and ``webhooks``.
"""
