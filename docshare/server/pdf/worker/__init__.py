"""What runs inside a PDF worker, confined. Read ``main`` first: it reads jobs and writes answers.

Imports nothing of the server but this package, ``docshare.server.confinement`` and what both sides share.
"""
