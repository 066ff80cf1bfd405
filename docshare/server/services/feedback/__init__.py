"""Feedback that readers leave: ``marks``, ``annotations``, ``notes``, ``receipts``; ``feedback`` is the whole of it."""
