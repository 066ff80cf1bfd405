"""Fixtures that start listeners."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.http.harness import Connect, ListenerHarness, MonotonicClock, RawConnection


@pytest.fixture
def start_listener(tmp_path: Path) -> Iterator[Callable[..., ListenerHarness]]:
    """Yield a function that starts a listener; settings of ``make_server`` are its keyword arguments."""
    started: list[ListenerHarness] = []

    def build(**settings: Any) -> ListenerHarness:
        started.append(ListenerHarness(tmp_path / f"data{len(started)}", **settings))
        return started[-1]

    yield build
    for rig in started:
        rig.close()


@pytest.fixture
def listener(start_listener: Callable[..., ListenerHarness]) -> ListenerHarness:
    """Return a listener with default settings."""
    return start_listener()


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Yield a function that opens a connection; close all connections at the end."""
    with ExitStack() as stack:
        yield lambda *where, **how: stack.enter_context(RawConnection(*where, **how))


@pytest.fixture
def monotonic() -> MonotonicClock:
    return MonotonicClock()
