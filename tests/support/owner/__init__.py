"""The owner's side of the pages: signing in, changing settings, and sending each of the forms.

Read ``browser`` first; ``routes`` has an address and valid fields of every form. May import the other helpers.
"""
