"""Webhooks: their rows, the queue of deliveries, and sending them. Read ``queue``, ``dispatch``, ``send``."""
