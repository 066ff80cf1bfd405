"""The commands: a module for each noun, or a folder where one noun has several modules.

In a folder, ``group`` or ``command`` holds what Typer sees; the other modules do the work. A noun imports another noun
only where ``tests/test_architecture.py`` lists it.
"""
