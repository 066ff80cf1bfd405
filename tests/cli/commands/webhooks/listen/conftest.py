"""A real server whose webhooks may call this machine, and listeners for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.outside.receivers import LOOPBACK_NETWORKS
from tests.support.outside.webhook_listener import Listen, run_listener, upload_file
from tests.support.servers.server_process import ServerProcess, make_env, run_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    allowed = ",".join(LOOPBACK_NETWORKS)
    folder = tmp_path_factory.mktemp("server")
    with run_server(folder, DOCSHARE_RATE_LIMIT="1000000", DOCSHARE_WEBHOOK_ALLOW=allowed) as server:
        yield server


@pytest.fixture
def env(server: ServerProcess, tmp_path: Path) -> dict[str, str]:
    return make_env(tmp_path, DOCSHARE_URL=server.url, DOCSHARE_TOKEN=server.token)


@pytest.fixture
def listen(server: ServerProcess, env: dict[str, str]) -> Listen:
    """Return a function that starts a listener for the server, with options."""
    return lambda *options: run_listener(env, "--data", str(server.data_dir), *options)


@pytest.fixture
def deck(server: ServerProcess) -> str:
    """Upload a file and return its UUID."""
    return upload_file(server)
