"""Listeners on one of several machines that share a database."""

# ``listens_on`` names the data directory whose processes can reach the listener.
STEP = """
ALTER TABLE webhooks ADD COLUMN listens_on TEXT;
"""
