"""Running an instance: mail, sweeps, encryption at rest, metrics, and the checks of ``docshare doctor``.

Read ``sweeps`` first: work that becomes due by time, which ``workers/jobs`` calls. ``mail`` writes to the outbox and
sends it, ``notices`` mails owners about their readers, ``encryption`` encrypts old data and exchanges keys,
``diagnosis`` lists the checks of an instance, ``metrics`` its counters. Imports neither Flask nor ``api`` nor ``web``.
"""
