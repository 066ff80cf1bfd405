"""Access that accounts granted to apps."""

# A grant is one approval of one client by one account, with any number of tokens. A code stores the grant it was
# exchanged for, so that a second exchange can revoke it; an exchanged refresh token is kept to detect its reuse.
_OAUTH = """
CREATE TABLE oauth_grants (
    id INTEGER PRIMARY KEY AUTOINCREMENT, uuid TEXT NOT NULL UNIQUE,
    account_id INTEGER NOT NULL REFERENCES accounts(id) ON DELETE CASCADE,
    client_id INTEGER NOT NULL REFERENCES oauth_clients(id) ON DELETE CASCADE,
    scopes TEXT NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, used_at INTEGER NOT NULL,
    revoked_at INTEGER
);
CREATE INDEX oauth_grants_account ON oauth_grants(account_id, id);
CREATE INDEX oauth_grants_client ON oauth_grants(client_id);
CREATE TABLE oauth_codes (
    digest TEXT PRIMARY KEY, account_id INTEGER NOT NULL REFERENCES accounts(id) ON DELETE CASCADE,
    client_id INTEGER NOT NULL REFERENCES oauth_clients(id) ON DELETE CASCADE,
    redirect_uri TEXT NOT NULL, scopes TEXT NOT NULL, challenge TEXT NOT NULL, expires_at INTEGER NOT NULL,
    grant_id INTEGER REFERENCES oauth_grants(id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX oauth_codes_account ON oauth_codes(account_id);
CREATE INDEX oauth_codes_client ON oauth_codes(client_id);
CREATE INDEX oauth_codes_grant ON oauth_codes(grant_id) WHERE grant_id IS NOT NULL;
CREATE TABLE oauth_tokens (
    digest TEXT PRIMARY KEY, kind TEXT NOT NULL,
    grant_id INTEGER NOT NULL REFERENCES oauth_grants(id) ON DELETE CASCADE,
    scopes TEXT NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, rotated_at INTEGER
) WITHOUT ROWID;
CREATE INDEX oauth_tokens_grant ON oauth_tokens(grant_id);
"""

STEP = _OAUTH
