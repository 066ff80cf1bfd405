"""Random moments that are as early on a slow machine as on a fast one."""

import time
from collections.abc import Callable
from random import Random

from tests.support.polling import wait_until


def random_moment(chance: Random, done: Callable[[], int], *, most: int, first_s: float = 0.4) -> None:
    """Return after up to ``most`` more were ``done``, and somewhere within the next.

    How many is drawn from ``chance`` alone, so a seed decides it and not the speed of the machine. ``first_s``: seconds
    that the first one may take, when it is not waited for.
    """
    began, before, wanted = time.monotonic(), done(), chance.randint(0, most)
    wait_until(lambda: done() - before >= wanted, seconds=120)
    each_s = (time.monotonic() - began) / wanted if wanted else first_s
    time.sleep(chance.uniform(0, each_s))
