"""``docshare api``: send any request. ``request`` builds it, ``command`` sends it and prints the response."""
