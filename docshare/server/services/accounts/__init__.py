"""Accounts and who acts for them: plans, API keys, passwords, sign-in links, browser sessions.

Read ``callers`` first: it authenticates a credential and returns the ``Caller`` that every service gets. ``accounts``
creates and deletes accounts and keys; ``sign_in`` and ``passwords`` sign a browser in. Deleting an account purges its
files, so this package imports ``services.files``; of ``services.links`` it uses only the limits of guessing and the
hashes of passwords, of ``services.operations`` only the mail. Like every service, it imports neither Flask nor ``api``
nor ``web``.
"""
