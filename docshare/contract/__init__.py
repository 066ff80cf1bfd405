"""The specification as data. Standard library only; server, client and command line all read it."""
