"""Helpers of the tests.

Read ``people/cast`` first: it starts an instance with the accounts Fay, Bea, Pia and Mal. Then ``people/reader`` and
``browsers/browser``, who open share links, ``shell``, which runs a command line, ``outside/fake_api``, a server with
scripted responses, and ``documents/pdfs``. A helper may import docshare, other helpers and the tables of
``tests.contract``, but no tests.
"""
