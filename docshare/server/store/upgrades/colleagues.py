"""Disabled accounts, and mailed links that invite, reset a password or confirm an address."""

STEP = """
ALTER TABLE accounts ADD COLUMN disabled_at INTEGER;
ALTER TABLE login_links ADD COLUMN kind TEXT NOT NULL DEFAULT 'sign-in';
ALTER TABLE login_links ADD COLUMN new_email TEXT;
"""
