"""Decisions: pure functions, values and ``now`` in, an answer or a Problem out."""
