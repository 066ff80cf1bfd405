"""``docshare webhooks``: send events to a server or to Slack, and tools for developing a receiver.

Read ``group`` first; each command is loaded when it runs. ``listen`` is a folder of its own. Of the other commands, it
imports only ``events``.
"""
