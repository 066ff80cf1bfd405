"""Servers in their own process, what stands between them and clients, and what kills them.

Read ``server_process`` first. May import the other helpers.
"""
