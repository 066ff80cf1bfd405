"""``docshare doctor``: run tables of checks, one module per group. Read ``checks`` first: it runs them."""
