"""What schemathesis loads of ours."""

from tests.support.fuzzing import checks, documents

__all__ = ["checks", "documents"]
