"""``docshare api``: send any request to the current server, for operations without a command.

Read ``command`` first: it sends the request and prints the response. ``request`` builds URL, query, headers and body
from the arguments, and the preview of ``--dry-run``; ``save`` writes the body of a response to a file. It imports
modules of ``files``, ``settings`` and ``upload``, and never the server.
"""
