"""API keys with fewer scopes, for one file, with an end; and the last use of every key."""

STEP = """
ALTER TABLE api_keys ADD COLUMN scopes TEXT;
ALTER TABLE api_keys ADD COLUMN file_id INTEGER;
ALTER TABLE api_keys ADD COLUMN expires_at INTEGER;
ALTER TABLE api_keys ADD COLUMN used_at INTEGER;
"""
