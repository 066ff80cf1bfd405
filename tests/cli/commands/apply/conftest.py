"""A server that counts writes, and a Pro user with a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.commands.apply.apply_folder import ApplyFolder
from tests.support.outside.receivers import LOOPBACK_NETWORKS
from tests.support.people.cast import Person, World
from tests.support.servers.lossy_proxy import LossyProxy, lossy_proxy
from tests.support.shell import Shell


@pytest.fixture
def world(make: Callable[..., World]) -> World:
    """Create a server whose webhooks may call this machine, so that no name is resolved."""
    return make(webhook_allow=LOOPBACK_NETWORKS)


@pytest.fixture
def counting_proxy(server_url: str) -> Iterator[LossyProxy]:
    with lossy_proxy(server_url) as proxy:
        proxy.counts = lambda method, path: method != "GET"
        yield proxy


@pytest.fixture
def apply_folder(
    shell_for: Callable[[Person], Shell], world: World, counting_proxy: LossyProxy, tmp_path: Path
) -> ApplyFolder:
    folder = tmp_path / "site"
    folder.mkdir()
    return ApplyFolder(shell_for(world.pia), counting_proxy, world.pia, folder)
