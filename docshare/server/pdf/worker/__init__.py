"""The code that runs inside a confined PDF worker. Start with ``main``, which reads jobs and writes replies.

From the server, it imports only this package, ``docshare.server.confinement`` and the modules that both sides share.
"""
