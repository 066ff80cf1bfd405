"""``docshare push``: create or update a document under a stable link, after every build.

Read ``command`` first: it validates everything by ``inputs`` before anything is sent, then calls the ``Pusher`` of
``run``, which skips, replaces or uploads the document. It imports modules of ``browse``, ``lint`` and ``upload``, and
never the server.
"""
