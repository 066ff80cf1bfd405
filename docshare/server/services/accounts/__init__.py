"""Accounts, API keys, passwords, sign-in links and sessions; ``callers`` authenticates a credential. Read it first."""
