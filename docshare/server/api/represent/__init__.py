"""Rows as JSON of the API: the only place where keys are camelCase. Start with ``resources``."""
