"""The commands: a module for each noun, or a folder where one noun has several modules.

In a folder, ``group`` or ``command`` defines the Typer commands; the other modules implement them. A noun imports
another noun only if ``tests/test_architecture.py`` lists it. Read ``whoami`` first, one of the shortest, then the
folder ``files``.
"""
