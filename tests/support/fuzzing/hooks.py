"""The module that Schemathesis loads."""

from tests.support.fuzzing import checks, documents

__all__ = ["checks", "documents"]
