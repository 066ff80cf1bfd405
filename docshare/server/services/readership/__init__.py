"""Readership: from the beacons of a share page to view sessions, sums and the report.

Read ``viewing`` first: it verifies a beacon and starts and ends sessions, as ``rules/reading`` decides. Then
``view_sessions``, which stores them, ``rollups``, which adds them up, and ``report``, which reads the sums. ``readers``
and ``viewers`` identify a reader who leaves feedback. Imports neither Flask nor ``api`` nor ``web``.
"""
