"""Designs of the design tool: verify its tokens, publish designs, and bind them to files."""
