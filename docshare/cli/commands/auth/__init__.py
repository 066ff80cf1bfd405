"""``docshare auth``: log in, log out, show the active credential. ``loopback`` waits for the browser to return."""
