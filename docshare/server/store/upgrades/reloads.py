"""Reloads of a share page, which continue the session of the load before."""

STEP = """
CREATE TABLE page_reloads (
    opening TEXT PRIMARY KEY, session_id INTEGER NOT NULL REFERENCES view_sessions(id) ON DELETE CASCADE,
    seq_before INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX page_reloads_session ON page_reloads(session_id);
"""
