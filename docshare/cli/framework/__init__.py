"""What every command is built from: the app, the context, options, arguments, connection, errors, exit codes.

May import ``terminal``, ``local``, the client and the contract; never a command. Read ``context`` first: it is the one
object that holds everything outside the program. ``app`` is all that docshare adds to Typer.
"""
