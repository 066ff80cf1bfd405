"""``docshare doctor``: check the program, its settings, the server, the instance and its public address.

Read ``command`` and ``run`` first: the options, and what runs the groups and prints their rows. ``checks`` runs a table
of checks, each with a deadline; ``program``, ``server``, ``instance`` and ``public`` have the checks. No other command
imports this package, and it imports no other command. It reaches a server on this machine through
``framework.admin_channel``.
"""
