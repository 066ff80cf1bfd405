"""Share links for readers: names, requirements, recipients' own links, passwords, downloads.

Read ``links`` first: it resolves the name in an address to a ``Link``, which the others work on. ``entry`` decides what
a reader must still submit, ``variants`` and ``invites`` manage the links of single recipients, ``downloads`` makes the
copy that a reader may have. ``guessing`` and ``denials`` limit and report failed attempts. Imports neither Flask nor
``api`` nor ``web``.
"""
