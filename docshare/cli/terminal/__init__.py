"""The output for people and scripts: ``emit`` for data, tables, progress, charts, and text that is safe to print.

Never imports a command. Read ``output`` first; ``capabilities`` decides what the two output streams can show.
"""
