"""What owners do on their pages: sign in, change settings, and send each of the forms.

Read ``browser`` first; ``routes`` has an address and valid fields of every form. May import the other helpers.
"""
