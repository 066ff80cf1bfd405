"""Random moments that are as early on a slow machine as on a fast one."""

import time
from collections.abc import Callable
from random import Random

from tests.support.polling import wait_until


def random_moment(chance: Random, done: Callable[[], int], *, most: int, first_s: float = 0.4) -> None:
    """Return once up to ``most`` more are ``done``, at a random moment within the next one.

    ``chance`` alone decides the number, so that a seed repeats it on any machine. ``done``: returns the number so far;
    ``first_s``: assumed duration of one in seconds, if the number is 0.
    """
    began, before, wanted = time.monotonic(), done(), chance.randint(0, most)
    wait_until(lambda: done() - before >= wanted, seconds=120)
    each_s = (time.monotonic() - began) / wanted if wanted else first_s
    time.sleep(chance.uniform(0, each_s))
