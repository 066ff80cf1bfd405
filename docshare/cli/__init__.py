"""The command line.

Read ``main`` first: the registry of commands and the one boundary around each of them. ``commands`` has one folder or
module per noun. They are built on ``framework`` (options, connection, errors), ``terminal`` (output) and ``local``
(files on this machine). Only what ``tests/test_architecture.py`` lists reaches the server, inside functions.

Help loads no module that only a running command uses, so some imports are inside functions. With all of them at the
top, ``upload --help`` executes 1.6 times as many instructions, and its target (six times ``python -c pass``) is missed.
For the same reason a value class is a named tuple in a module that help or an offline command loads, and a frozen
dataclass in any other: with dataclasses in all of them, ``--help`` executes 1.1 times as many instructions.
"""
