"""Webhooks, the queue of their deliveries, and sending. Read ``queue``, ``dispatch``, ``send``."""
