"""The building blocks of every command: app, context, options, arguments, connection, errors, exit codes.

May import ``terminal``, ``local``, the client and the contract, but no command; only ``admin_channel`` imports
the server, inside functions. Read ``context`` first: it holds everything outside the program.
``app`` has everything that docshare adds to Typer.
"""
