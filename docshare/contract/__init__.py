"""The specification as data, read by the server, the client, and the command line. Standard library only.

Read ``settings`` and ``problems`` first. A rule of the API is a row here before anything else uses it; the tests type
each table again, by hand.
"""
