"""The way in: sockets, requests, early verdicts, uploads, rate limits, health.

Modules of the listener import neither Flask nor services. Read ``listener`` first, then follow a request through
``channel`` and ``request_parser``.
"""
