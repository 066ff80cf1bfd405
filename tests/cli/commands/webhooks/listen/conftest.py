"""A real server whose webhooks may call this machine, and listeners to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.listening import Listen, listener, uploaded
from tests.support.receivers import ALLOWED
from tests.support.served import Served, home, served


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    allowed = ",".join(ALLOWED)
    folder = tmp_path_factory.mktemp("server")
    with served(folder, DOCSHARE_RATE_LIMIT="1000000", DOCSHARE_WEBHOOK_ALLOW=allowed) as server:
        yield server


@pytest.fixture
def env(server: Served, tmp_path: Path) -> dict[str, str]:
    return home(tmp_path, DOCSHARE_URL=server.url, DOCSHARE_TOKEN=server.token)


@pytest.fixture
def listen(server: Served, env: dict[str, str]) -> Listen:
    """A function that starts a listener to the server, with options."""
    return lambda *options: listener(env, "--data", str(server.data_dir), *options)


@pytest.fixture
def deck(server: Served) -> str:
    """The UUID of a file."""
    return uploaded(server)
