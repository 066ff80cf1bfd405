"""The server: rules decide, services tell the story, api and web translate, app wires.

Read ``serve`` first, then ``app`` and ``runtime``: everything outside of the process is one object. ``http`` is the way
in, ``outbound`` the only way out, ``store`` keeps what lasts, ``workers`` do what is due.
"""
