"""``docshare events``: list the feed, follow it, and the cursors that remember a position.

``gate`` uses the same modules. Read ``group`` first, then ``tail`` and ``follow``; ``cursor_files`` keeps positions.
"""
