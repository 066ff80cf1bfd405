"""Fixtures of the tests in separate processes."""

from pathlib import Path

import pytest

from tests.support.servers.server_process import make_env


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a user with a new home directory."""
    return make_env(tmp_path)
