"""Fixtures of the tests of background threads."""

from typing import Any

import pytest


@pytest.fixture
def file(uploaded_file: dict[str, Any]) -> str:
    """Return the UUID of a file of Pia."""
    return str(uploaded_file["uuid"])
