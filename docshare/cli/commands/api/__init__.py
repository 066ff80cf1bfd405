"""``docshare api``: send any request to the current server, for operations without a command.

Read ``command`` first: it sends the request. ``request`` builds URL, query, headers and body from the arguments, and
the preview of ``--dry-run``; ``response`` prints the response, or writes its body to a file. It imports modules of
``files``, ``settings`` and ``upload``, and never the server.
"""
