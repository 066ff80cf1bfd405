"""Accounts and readers, what they request, and the files and settings that they have.

Read ``cast`` first: the accounts Fay, Bea, Pia and Mal; then ``reader``, who opens share links. May import the other
helpers.
"""
