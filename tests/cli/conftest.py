"""A shell on fake time, and an API server that says what a test wrote down."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.uploads import PDF, Shelf
from tests.support.fakefeed import FakeApi, FakeTime, fake_api
from tests.support.shell import Shell


@pytest.fixture
def time() -> FakeTime:
    return FakeTime()


@pytest.fixture
def api(time: FakeTime) -> Iterator[FakeApi]:
    with fake_api() as api:
        api.wall = lambda: time.wall
        yield api


@pytest.fixture
def shell(api: FakeApi, time: FakeTime, tmp_path: Path) -> Shell:
    return Shell(tmp_path, api.url, time)


@pytest.fixture
def shelf(api: FakeApi) -> Shelf:
    """The API, taking uploads."""
    return Shelf(api)


@pytest.fixture
def deck(tmp_path: Path) -> Path:
    """A file ``deck.pdf`` that can be uploaded."""
    path = tmp_path / "deck.pdf"
    path.write_bytes(PDF)
    return path
