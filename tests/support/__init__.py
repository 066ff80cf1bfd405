"""Helpers of the tests: the accounts and readers that act, the servers they meet, and the documents they share.

Read ``cast`` first: it starts an instance with the accounts Fay, Bea, Pia and Mal. Then ``reader`` and ``browser``, who
open share links, ``shell``, which runs a command line, ``fake_api``, a server with scripted responses, and ``pdfs``,
the sample documents. A helper may import docshare, other helpers, and helpers of a folder of tests such as
``tests.api.webhooks``, but no test file.
"""
