"""``docshare assets``: the logo, background and sounds of a file.

Read ``group`` first: it checks and uploads an asset. ``apply`` changes the settings that show it. Of the other
commands, it imports only ``settings``.
"""
