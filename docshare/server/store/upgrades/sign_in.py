"""How owners sign in beside their links."""

_PASSWORDS = """
ALTER TABLE accounts ADD COLUMN password_hash TEXT;
"""

STEP = _PASSWORDS
