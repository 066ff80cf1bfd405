"""Webhooks: their registration, the queue of their deliveries, and sending.

Read ``queue`` first and follow a delivery: ``queue`` inserts it together with its event, ``dispatch`` claims it and
records each attempt, ``send`` makes the attempt. ``webhooks`` and ``deliveries`` serve the owner; ``destination``
checks every URL. ``workers/dispatcher`` has the threads, ``contract/webhooks`` the delays and the number of attempts.
Imports neither Flask nor ``api`` nor ``web``.
"""
