"""What people and scripts see: one ``emit`` for data, tables, progress, charts, text that is safe to print.

Never imports a command. Read ``output`` first; ``capabilities`` decides what the two output streams can show.
"""
