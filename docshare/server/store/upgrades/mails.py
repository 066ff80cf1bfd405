"""The account and kind of each notice, and the notices that owners have switched off."""

_NOTICES = """
ALTER TABLE mails ADD COLUMN account_id INTEGER REFERENCES accounts(id) ON DELETE CASCADE;
ALTER TABLE mails ADD COLUMN notice TEXT;
CREATE TABLE muted_notices (
    account_id INTEGER NOT NULL REFERENCES accounts(id) ON DELETE CASCADE,
    notice TEXT NOT NULL, muted_at INTEGER NOT NULL, PRIMARY KEY (account_id, notice)
) WITHOUT ROWID;
CREATE INDEX mails_account ON mails(account_id) WHERE account_id IS NOT NULL;
"""

STEP = _NOTICES
