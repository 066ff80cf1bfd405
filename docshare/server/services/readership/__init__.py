"""Readership: record the beacons of share pages as view sessions, add the sessions up, and build the reports.

- A *page load* is one load of a share page; its token contains a nonce that identifies it.
- A *beacon* is a request in which the page reports how it was read since the last one.
- A *session* is one continuous reading. A page load begins its next session, with the next *part* number, if its reader
  returns after the last one has ended.
- A session is *counted* once it is a view by the rules of ``rules/reading``; only counted ones add to the
  *sums* of the file.

Read ``viewing`` first: it verifies a beacon and starts and ends sessions, as ``rules/reading`` decides. Then
``view_sessions``, which stores them, ``rollups``, which adds them to the sums, and ``report``, which reads the sums.
``readers`` and ``viewers`` identify a reader who leaves feedback. Imports neither Flask nor ``api`` nor ``web``.
"""
