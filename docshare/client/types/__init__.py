"""The answers of the server as ``TypedDict``, for type checkers and editors.

Read ``files`` first; the other modules have one noun each. A class has the name of its schema in ``openapi.yaml``, and
a test compares them. The client imports this package for type checkers only, so it costs nothing at run time.
"""
