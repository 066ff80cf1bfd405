"""Ways for owners to sign in other than by link."""

_PASSWORDS = """
ALTER TABLE accounts ADD COLUMN password_hash TEXT;
"""

STEP = _PASSWORDS
