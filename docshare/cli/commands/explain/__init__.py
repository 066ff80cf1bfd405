"""``docshare explain``: explain how a session was measured and classified.

Read ``command`` first: it fetches the session and prints the lines that ``story`` builds. The rules that ``story``
describes are in ``docshare.server.rules.reading``, which it does not import. Of the other commands, it imports only
``readership``.
"""
