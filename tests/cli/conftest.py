"""A shell on fake time, and an API server with the responses that a test sets up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.commands.fakes.uploads import PDF, FakeUploads
from tests.support.outside.fake_api import FakeApi, FakeTime
from tests.support.outside.fake_api_fixtures import api, time
from tests.support.shell import Shell

if TYPE_CHECKING:
    from tests.support.people.cast import Person, World

__all__ = ["api", "time"]


@pytest.fixture
def shell(api: FakeApi, time: FakeTime, tmp_path: Path) -> Shell:
    return Shell(tmp_path, api.url, time)


@pytest.fixture
def fake_uploads(api: FakeApi) -> FakeUploads:
    """Return the fake API with support for uploads."""
    return FakeUploads(api)


@pytest.fixture
def deck(tmp_path: Path) -> Path:
    """Create a file ``deck.pdf`` that can be uploaded."""
    path = tmp_path / "deck.pdf"
    path.write_bytes(PDF)
    return path


@pytest.fixture
def work_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create an empty directory and change to it."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def server_url(world: World) -> Iterator[str]:
    """Yield the address of a real server with the cast of ``world``."""
    from tests.support.servers.in_process_server import serve_world

    with serve_world(world) as url:
        yield url


@pytest.fixture
def shell_for(server_url: str, world: World, time: FakeTime, tmp_path: Path) -> Callable[[Person], Shell]:
    """Return a function that creates a shell on the real server for a person."""

    def open_shell(person: Person) -> Shell:
        shell = Shell(tmp_path / person.email, server_url, time)
        shell.env["DOCSHARE_TOKEN"] = person.key
        return shell

    return open_shell


@pytest.fixture
def pia(shell_for: Callable[[Person], Shell], world: World) -> Shell:
    """Return the shell of Pia on the real server."""
    return shell_for(world.pia)
