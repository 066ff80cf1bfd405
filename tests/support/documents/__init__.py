"""Sample documents, almost all written by hand: PDF, Office, images and sounds.

Read ``pdfs`` first; ``hostile_pdfs`` and ``leaky_pdf`` attack or betray. May import only each other.
"""
