"""The server and credential of a client, from the environment and the files that ``docshare auth login`` writes.

Read ``profiles`` first, which finds them. ``credentials`` keeps and renews the saved credentials, also for the command
line. Both import the errors of the client and ``docshare.private_files``.
"""
