"""The server and credential of a client, from the environment and the files that ``docshare auth login`` writes.

Read ``profiles`` first, which finds them. ``credentials`` keeps and renews the saved credentials, and ``local_server``
finds the server of this host, both also for the command line. They import the modules ``address``, ``errors`` and
``oauth`` of the client, ``docshare.directories`` and ``docshare.private_files``.
"""
