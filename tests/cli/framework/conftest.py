"""The signals of a terminal, also where the tests themselves were started by nohup."""

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def default_hangup() -> Iterator[None]:
    """Have SIGHUP end processes: a command leaves it ignored if the program that starts it ignores it."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)
