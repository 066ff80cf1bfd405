"""A shared engine with real worker processes, and a way to put sample documents on disk."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from docshare.server.pdf.engine import Engine


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """An engine with default settings for the tests of one module."""
    shared = Engine()
    yield shared
    shared.close()


@pytest.fixture
def put(tmp_path: Path) -> Callable[..., Path]:
    """Writes bytes to a file of its own and gives its path."""

    def write(data: bytes, name: str = "document.pdf") -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write
