"""Use cases, one module per section of the specification."""
