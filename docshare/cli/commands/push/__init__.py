"""``docshare push``: create or update a document under a stable link. Read ``inputs`` first, then ``run``."""
