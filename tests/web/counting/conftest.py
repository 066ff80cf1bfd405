"""Fixtures of the tests of counted views."""

from typing import Any

import pytest


@pytest.fixture
def link(uploaded_file: dict[str, Any]) -> str:
    """Return the short id of a document of three pages that Pia shares."""
    return str(uploaded_file["shortId"])
