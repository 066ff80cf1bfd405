"""Readers, from beacons to view sessions and reports. Read ``viewing`` first, then ``view_sessions``."""
