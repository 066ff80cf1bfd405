"""Time and chance as the client sees them, so that tests wait for nothing."""

import random
import time
from collections.abc import Callable
from typing import NamedTuple


class Clock(NamedTuple):
    """``wall``: seconds since 1970; ``monotonic``: seconds since some start, never going back; ``sleep``: waits that
    many seconds; ``chance``: a number from 0 up to 1, for jitter."""

    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random


SYSTEM_CLOCK = Clock()
