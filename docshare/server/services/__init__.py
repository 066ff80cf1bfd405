"""Use cases in one folder per noun: load, decide, write, record.

A function reads the clock once and passes ``now`` on; it imports rules and tables, never Flask, ``api`` or ``web``.
Read ``files/intake`` first: the steps of an upload. Then ``events/activity``, which records events.
"""
