"""Completion: words fetched from the server, and the scripts of the shells.

``docshare __complete`` answers from ``docshare.cli.local.completion_words`` alone, so that TAB is fast.
"""
