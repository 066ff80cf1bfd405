"""Read, render and edit PDFs in confined worker processes.

Start with ``engine``, which turns each request into a job and returns its result. ``pool`` and ``schedule`` decide
which job runs next, ``child`` controls one worker process, ``worker`` is the code that runs inside it, and ``answers``
validates the replies.
"""
