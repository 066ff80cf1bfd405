"""``docshare variants``: links for single recipients. Read ``group`` first.

``change`` does the work of its commands. ``create`` calls ``single`` for one link, and ``batch`` for
several: ``recipients`` reads the rows, ``plan`` decides what to do for each, ``make`` does it and ``result_file``
records it. Of the other commands, it imports only ``settings``.
"""
