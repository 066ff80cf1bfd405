"""Time and random numbers for the client, so that tests do not wait."""

import random
import time
from collections.abc import Callable
from typing import NamedTuple


class Clock(NamedTuple):
    """``wall``: seconds since 1970; ``monotonic``: seconds since an arbitrary start, never decreasing; ``sleep``: wait
    that many seconds; ``chance``: a random number from 0 to 1, for jitter."""

    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random


SYSTEM_CLOCK = Clock()
