"""PDF work: page counts, page images and page text, all made in confined worker processes.

``engine`` and ``pages`` are what the server uses. ``worker`` and the modules it imports (``confine``, ``documents``,
``inspect``, ``render``, ``text``, ``links``, ``derive``, ``warmup``) touch PDF bytes and run only inside the child
processes. ``probe`` finds out how those are confined here.
"""
