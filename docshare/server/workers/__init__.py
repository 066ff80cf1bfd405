"""Background threads of a server: periodic jobs, and the sending of webhook deliveries.

Read ``jobs`` first: the table ``JOBS`` has every periodic job with its interval, and ``Worker`` runs a table in one
thread. ``dispatcher`` sends deliveries with many threads. The work of a job is a function of a service or of the
store; nothing here imports Flask, ``api`` or ``web``.
"""
