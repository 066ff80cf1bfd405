"""Whether time tells which addresses have an account: python -m tests.benchmarks.password_sign_in [ROUNDS]

The medians of signing in with a wrong password, as somebody with a password, as somebody without one and as nobody,
asked in turns, may lie 5 ms apart at most (G22). Nothing but a quiet machine is needed; the application runs in here.
"""

import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from docshare.contract.limits import RatePolicy
from docshare.server.pdf.engine import Engine
from docshare.server.rules import guesses
from docshare.server.services.accounts import passwords
from docshare.server.services.links.guessing import Lock
from tests.benchmarks.side_by_side import amount, bound
from tests.support.cast import World, make_runtime, make_world
from tests.support.clock import Clock
from tests.support.owner import signed_in
from tests.support.pressing import press

ASKED = ("pia@example.com", "fay@example.com", "nobody@example.com")


def took(world: World, email: str) -> float:
    """The ms of one refused attempt."""
    began = time.perf_counter()
    answer = world.app.test_client().post("/login", data={"email": email, "password": "wrong, but long"})
    assert answer.status_code == 403
    return (time.perf_counter() - began) * 1000


def main(rounds: int) -> int:
    """Measure and print; returns the exit code."""
    free = RatePolicy("free", 10**6, 1_000, "x")
    passwords._LOCK = Lock(free, free)
    guesses.wait_ms = lambda wrong, since: 0  # type: ignore[assignment]
    with tempfile.TemporaryDirectory() as folder:
        clock = Clock()
        world = make_world(make_runtime(Path(folder) / "data", clock, Engine(workers=1)), clock)
        press(signed_in(world, world.pia), "/account/password", password="correct horse battery")
        times: dict[str, list[float]] = {email: [] for email in ASKED}
        for _ in range(rounds):
            for email in ASKED:
                times[email].append(took(world, email))
    medians = [median(found) for found in times.values()]
    print(", ".join(f"{email}: {value:.2f} ms" for email, value in zip(ASKED, medians, strict=True)))
    return 0 if bound("apart", max(medians) - min(medians), 5, "ms") else 1


if __name__ == "__main__":
    sys.exit(main(amount(100, 2)))
