"""``docshare files`` and its short names, such as ``ls``, ``show`` and ``rm``.

Read ``group`` first: list, show, delete and restore are in it, ``download``, ``replace`` and ``wait`` in modules of
their own. ``save``, ``replacement``, ``polling`` and ``deletion`` do the work of a command and are loaded when it runs.
``rows`` describes how a file is printed. Of the other commands, it imports only ``upload``.
"""
