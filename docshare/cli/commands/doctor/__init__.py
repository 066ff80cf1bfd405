"""``docshare doctor``: tables of checks, one module per group. Read ``checks`` first: it runs them under a deadline."""
