"""The specification as data, read by the server, the client, and the command line. Standard library only."""
