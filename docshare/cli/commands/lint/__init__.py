"""``docshare lint``: check PDFs for metadata and hidden content before sharing, offline.

Read ``command`` first: it runs the checks of ``docshare.server.pdf.linter`` in a confined process, the only part of the
server that it imports, and only inside functions. ``report`` filters the findings and prints them. It imports no other
command; ``upload`` and ``push`` import it for ``--lint``.
"""
