"""Documents of an external design tool, whose users need no account: verify, publish, limit.

Read ``publish`` first: it shares a design, or replaces the document behind its link. ``tokens`` verifies the tokens of
the tool, ``designs`` binds files to designs and counts uploads by day. Of the services, it imports only
``services.accounts`` and ``services.files``.
"""
