"""The building blocks of every command: app, context, options, arguments, connection, errors, exit codes.

May import ``terminal``, ``local``, the client and the contract, but no command. Read ``context`` first: it holds
everything outside the program. ``app`` has everything that docshare adds to Typer.
"""
