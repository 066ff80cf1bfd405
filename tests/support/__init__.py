"""Helpers of the tests: accounts, readers, servers and sample documents.

Read ``cast`` first: it starts an instance with the accounts Fay, Bea, Pia and Mal. Then ``reader`` and ``browser``, who
open share links, ``shell``, which runs a command line, ``fake_api``, a server with scripted responses, and ``pdfs``,
the sample documents. A helper may import docshare, other helpers and the tables of ``tests.contract``, but no tests.
"""
