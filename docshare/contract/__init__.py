"""The specification as data, read by the server, the client, and the command line.

Read ``settings`` and ``problems`` first. A rule of the API is a row here before anything else uses it; the tests type
each table again, by hand. It imports only the standard library.
"""
