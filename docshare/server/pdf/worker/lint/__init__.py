"""What a PDF tells besides what its pages show, and a copy without it. Runs inside the worker only.

``report`` gathers the findings: ``about`` from what the document says of itself, ``inside`` from what hangs in it,
``sight`` from what its pages draw and nobody sees, ``versions`` from how it was saved. ``clean`` makes the copy. The
parent's side of it is ``docshare.server.pdf.linter``.
"""
