"""Completion: words fetched from the server, and the scripts of the shells.

Read ``online`` first: it fetches the words. ``scripts`` generates the scripts from the command tree, ``places`` knows
where shells load them from, and ``shells`` starts a shell to see what it loads. ``docshare __complete`` answers from
``docshare.cli.local.completion_words``, so that TAB is fast, and imports only ``online``, for a profile with
``complete_online``.
"""
