"""``docshare events``: list and follow the events feed, and manage saved cursors.

``gate`` uses the same modules. Read ``group`` first, then ``tail`` and ``follow``; ``cursor_files`` stores positions.
It imports no other command, and never the server.
"""
