"""The owner's pages about readers: the report of a file, its sessions, and the readership of all files.

Read ``report`` first: the others use its range of days. ``docshare.report`` draws the pages, as it does the report
files of the command line. It imports services, never tables.
"""
