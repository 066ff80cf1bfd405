"""Readers: view sessions from beacons to the report. Read ``viewing`` first, then ``view_sessions``."""
