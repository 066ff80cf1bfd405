"""Events: the record of what happened to an owner's files, and the feeds that are polled.

Read ``activity`` first: the transaction of each change calls ``record``, which also queues the deliveries of webhooks.
``feed`` and ``activity_feed`` serve the rows by cursor, ``listeners`` are receivers on this machine. ``triggers``,
``simulated_events``, and ``simulated_visits`` cause events for developers, so this package imports most other services,
but neither Flask nor ``api`` nor ``web``.
"""
