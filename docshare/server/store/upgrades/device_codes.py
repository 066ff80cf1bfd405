"""Logins of programs without a browser (RFC 8628), from the request to the exchange for tokens."""

STEP = """
CREATE TABLE device_codes (
    digest TEXT PRIMARY KEY, user_digest TEXT NOT NULL,
    client_id INTEGER NOT NULL REFERENCES oauth_clients(id) ON DELETE CASCADE,
    account_id INTEGER REFERENCES accounts(id) ON DELETE CASCADE,
    scopes TEXT NOT NULL, address TEXT NOT NULL, poll_ms INTEGER NOT NULL, polled_at INTEGER,
    created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, approved_at INTEGER, denied_at INTEGER
) WITHOUT ROWID;
CREATE UNIQUE INDEX device_codes_user_digest ON device_codes(user_digest);
CREATE INDEX device_codes_account ON device_codes(account_id) WHERE account_id IS NOT NULL;
CREATE INDEX device_codes_client ON device_codes(client_id);
"""
