"""PDFs, opened only in confined worker processes.

Read ``engine`` first: questions go in, values or refusals come out. ``pool`` and ``schedule`` decide whose job runs,
``child`` is one process as its parent sees it, ``worker`` is what runs inside. Answers are checked in ``answers``.
"""
