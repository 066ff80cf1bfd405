"""Wait for an action of another process or thread without guessing its duration."""

import time
from collections.abc import Callable


def wait_until(happened: Callable[[], object], *, seconds: float = 30.0) -> None:
    """Return as soon as ``happened()`` is true; fail after ``seconds``."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)
