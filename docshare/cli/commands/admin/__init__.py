"""``docshare admin``: operate an instance. Read ``group`` first; each command is loaded when it runs.

Commands go through ``docshare.cli.framework.admin_channel`` to the running server; backup, restore and check open the
data directory themselves.
"""
