"""``docshare push``: create or update a document under a stable link. ``inputs`` checks, ``run`` does it."""
