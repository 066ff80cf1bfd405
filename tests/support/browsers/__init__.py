"""Browsers, the pages in them, and what tests read from a page.

Read ``browser`` first, a reader with a real browser; ``markup`` and ``forms`` read pages without one. May import the
other helpers.
"""
