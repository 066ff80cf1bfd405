"""Authenticate callers; manage accounts, API keys, passwords, sign-in links and sessions."""
