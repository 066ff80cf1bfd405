"""The command line.

``main`` holds the registry of commands and the one boundary around each of them; read it first. ``commands`` has one
folder or module per noun. They are built on ``framework`` (options, connection, errors), ``terminal`` (output) and
``local`` (files on this machine). Only what ``tests/test_architecture.py`` lists reaches the server, inside functions.
"""
