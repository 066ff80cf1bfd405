"""``docshare auth``: log in and out, show the active credential, and manage API keys.

Read ``group`` first: every command but ``keys`` is in it. ``browser`` logs in by a browser on this machine, and
``loopback`` receives its redirect, as a request to 127.0.0.1 or as a pasted URL; ``device`` logs in by a code on
another device. Credentials are stored by ``cli.local.credentials`` and renewed by ``cli.local.token_refresh``. Of the
other commands, it imports only ``browse``, to open the browser, the codes of ``qr`` and the times of ``settings``.
"""
