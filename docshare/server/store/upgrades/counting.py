"""Distinguish short sessions from long ones, and count the sessions of each class that are not views."""

# Ended sessions keep their class; for running ones, the first report is assumed to have arrived at their start.
STEP = """
ALTER TABLE view_sessions ADD COLUMN first_at INTEGER;
ALTER TABLE view_sessions ADD COLUMN closed_at INTEGER;
UPDATE view_sessions SET first_at = started_at WHERE ended_at IS NULL;
CREATE INDEX view_sessions_reader ON view_sessions(file_id, reader, counted_at) WHERE counted_at IS NOT NULL;
CREATE INDEX view_sessions_not_counted ON view_sessions(file_id, id) WHERE counted_at IS NULL;
INSERT INTO tallies (file_id, kind, label, sessions)
    SELECT file_id, 'uncounted', class, COUNT(*) FROM view_sessions
    WHERE counted_at IS NULL AND ended_at IS NOT NULL GROUP BY file_id, class;
"""
