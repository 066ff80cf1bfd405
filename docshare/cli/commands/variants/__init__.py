"""``docshare variants``: links for single recipients. Read ``group`` first.

``create`` reads ``recipients``, ``plan`` decides what to do for each, ``make`` does it and ``result_file`` records it.
Of the other commands, it imports only ``settings``.
"""
