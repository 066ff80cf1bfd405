"""``docshare help``: topics, the help of commands, and both as a website with the API.

Read ``command`` first. ``website`` serves ``docshare.manual`` on this machine or writes it as files, and is imported
only for that. It imports ``browse`` to open the browser.
"""
