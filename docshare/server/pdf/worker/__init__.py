"""The code that runs inside a confined PDF worker.

Read ``main`` first: it reads jobs and writes replies. From the server, it imports only this package,
``docshare.server.confinement``, ``rules.finding``, ``rules.outline``, and the modules of ``store`` that read encrypted
bytes.
"""
