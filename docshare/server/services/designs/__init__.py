"""The lane of the design tool: its tokens, its designs, and which file shows which."""
