"""Webhooks, their deliveries, and denied views."""

# ``events`` is a JSON array of kinds; ``secret`` is encrypted by the vault; ``peer`` is host:port, since each has a
# cap. ``listens_until`` is set for the webhook of ``docshare webhooks listen``, which is in no list and expires by
# itself. A delivery is pending while ``next_at`` is set, and being sent while ``claimed_at`` is set too; ``tries``
# counts the attempts of its round, which a redelivery restarts, and ``attempts`` has all of them.
_WEBHOOKS = """
CREATE TABLE webhooks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, uuid TEXT NOT NULL UNIQUE,
    account_id INTEGER NOT NULL REFERENCES accounts(id) ON DELETE CASCADE,
    file_id INTEGER REFERENCES files(id) ON DELETE CASCADE,
    url TEXT NOT NULL, peer TEXT NOT NULL, format TEXT NOT NULL, events TEXT NOT NULL, secret BLOB NOT NULL,
    created_at INTEGER NOT NULL, failure_count INTEGER NOT NULL DEFAULT 0,
    last_delivery_at INTEGER, last_status INTEGER, disabled_at INTEGER, listens_until INTEGER
);
CREATE INDEX webhooks_account ON webhooks(account_id, id);
CREATE INDEX webhooks_file ON webhooks(file_id) WHERE file_id IS NOT NULL;
CREATE TABLE deliveries (
    id INTEGER PRIMARY KEY AUTOINCREMENT, uuid TEXT NOT NULL UNIQUE,
    webhook_id INTEGER NOT NULL REFERENCES webhooks(id) ON DELETE CASCADE,
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    variant_id INTEGER REFERENCES variants(id) ON DELETE SET NULL,
    event TEXT NOT NULL, body TEXT NOT NULL, created_at INTEGER NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0, next_at INTEGER, claimed_at INTEGER,
    delivered_at INTEGER, abandoned_at INTEGER
);
CREATE INDEX deliveries_due ON deliveries(webhook_id, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX deliveries_claimed ON deliveries(claimed_at) WHERE claimed_at IS NOT NULL;
CREATE INDEX deliveries_webhook ON deliveries(webhook_id, id);
CREATE INDEX deliveries_file ON deliveries(file_id);
CREATE INDEX deliveries_variant ON deliveries(variant_id) WHERE variant_id IS NOT NULL;
CREATE INDEX deliveries_old ON deliveries(created_at);
INSERT INTO sqlite_sequence (name, seq) VALUES ('deliveries', 1);
CREATE TABLE attempts (
    delivery_id INTEGER NOT NULL REFERENCES deliveries(id) ON DELETE CASCADE, number INTEGER NOT NULL,
    at INTEGER NOT NULL, status INTEGER NOT NULL, latency_ms INTEGER NOT NULL, error TEXT,
    PRIMARY KEY (delivery_id, number)
) WITHOUT ROWID;
CREATE INDEX activity_rows_old ON activity_rows(happened_at);
CREATE INDEX activity_rows_kind ON activity_rows(owner_id, event, id) WHERE hidden = 0;
CREATE TABLE denials (
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE, reason TEXT NOT NULL,
    variant_id INTEGER NOT NULL, minute INTEGER NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (file_id, reason, variant_id, minute)
) WITHOUT ROWID;
"""

STEP = _WEBHOOKS
