"""Feedback of readers on a document: notes, marks, annotations and receipts, one module for each kind.

Read ``notes`` first; the others are like it: check the reader by ``services.readership.readers``, store the row, record
the event. ``feedback`` loads all kinds at once, for a reader who returns and for the owner. Imports neither Flask nor
``api`` nor ``web``.
"""
