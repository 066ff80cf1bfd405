"""``docshare serve``: run the bundled server, and optionally share files or run a command against it.

Read ``command`` first, which defines the options, then ``run``: what happens in order. ``startup`` opens the data
directory and starts the server, ``share`` uploads the given files, prints the next steps and who reads
them, ``address`` chooses where to listen. One of the few commands that import ``docshare.server``, always inside
functions; of the other commands, it imports only ``events``.
"""
