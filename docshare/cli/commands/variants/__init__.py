"""``docshare variants``: links for single recipients. Read ``group`` first.

``create`` reads ``recipients``, ``plan`` decides what is to be done for each, ``make`` does it and ``result_file``
keeps it.
"""
