"""``docshare auth``: log in and out, and show the active credential. ``loopback`` waits for the browser."""
