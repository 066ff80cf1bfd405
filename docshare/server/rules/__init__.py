"""Decisions as pure functions: values and the time ``now`` in, a result or a ``Problem`` out.

They read no clock, no database and no file. They import the contract and, of the rest of the server, only parsers that
are pure too: ``outbound.targets``, ``outbound.addresses`` and ``strict_json``. Read ``reading`` first: how views are
counted and reading time is measured.
"""
