"""Decisions as pure functions: values and the time ``now`` in, a result or a ``Problem`` out.

They read no clock, no database and no file, and import only the contract. Read ``reading`` first: how views are
counted and reading time is measured.
"""
