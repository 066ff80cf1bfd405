"""``docshare settings``: read and write the settings of files.

Read ``options`` first, and follow a value such as ``--views 3``: ``options`` declares the option and names the setting
it sets; the row of that setting in ``contract.settings`` declares its kind and bounds, ``declarations`` makes it a row
of the command line, and ``kinds`` parses, validates and formats every value of that kind. ``gather`` collects the
values in ``changes``; ``write`` sends them and reads them back; ``describe`` compares and prints them. It imports no
other command.
"""
