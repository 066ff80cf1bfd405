"""Files created from designs, and frozen links."""

# A binding stores which design of which user of the design tool a file shows; ``expires_at`` is the expiry set by
# publishing, which shows whether somebody changed it later. The uploads of a user in the last day are counted here,
# so that a restart does not reset the limit.
_DESIGNS = """
CREATE TABLE designs (
    file_id INTEGER PRIMARY KEY REFERENCES files(id) ON DELETE CASCADE,
    design_user TEXT NOT NULL, design TEXT NOT NULL, bound_at INTEGER NOT NULL, expires_at INTEGER
);
CREATE INDEX designs_design ON designs(design, design_user);
CREATE TABLE design_uploads (
    id INTEGER PRIMARY KEY, design_user TEXT NOT NULL, uploaded_at INTEGER NOT NULL
);
CREATE INDEX design_uploads_user ON design_uploads(design_user, uploaded_at);
CREATE INDEX design_uploads_age ON design_uploads(uploaded_at);
ALTER TABLE files ADD COLUMN frozen_at INTEGER;
"""

STEP = _DESIGNS
