"""``docshare upload``: read ``command`` and ``run`` first.

``send`` uploads one file or several at a time, ``settings`` and ``links`` follow each upload, ``report`` prints it.
"""
