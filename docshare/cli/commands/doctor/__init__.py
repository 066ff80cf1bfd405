"""``docshare doctor``: check the program, its settings, the server, the instance and its public address.

Read ``command`` first: it lists the groups and prints their rows. ``checks`` runs a table of checks, each with a
deadline; ``program``, ``server``, ``instance`` and ``public`` hold the checks. No other command imports it, and it
imports no other command; it reaches a server on this machine through ``framework.admin_channel``.
"""
