"""Whether time tells which addresses have an account: python -m tests.benchmarks.password_sign_in [ROUNDS]

The medians of signing in with a wrong password, as somebody with a password, as somebody without one and as nobody,
asked in turns, may lie 5 ms apart at most. Nothing but a quiet machine is needed; the application runs in here.
"""

import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from docshare.contract.limits import RatePolicy
from docshare.server.pdf.engine import PdfEngine
from docshare.server.rules import guess_limits
from docshare.server.services.accounts import passwords
from docshare.server.services.links.guessing import AttemptLimits
from tests.benchmarks.comparison import check_bound, read_amount
from tests.support.cast import World, make_runtime, make_world
from tests.support.clock import FakeClock
from tests.support.owner import sign_in_browser
from tests.support.owner_forms import submit_form

EMAILS = ("pia@example.com", "fay@example.com", "nobody@example.com")


def measure_attempt_ms(world: World, email: str) -> float:
    """The ms of one refused attempt."""
    began = time.perf_counter()
    answer = world.app.test_client().post("/login", data={"email": email, "password": "wrong, but long"})
    assert answer.status_code == 403
    return (time.perf_counter() - began) * 1000


def main(rounds: int) -> int:
    """Measure and print; returns the exit code."""
    free = RatePolicy("free", 10**6, 1_000, "x")
    passwords._ATTEMPT_LIMITS = AttemptLimits(free, free)
    guess_limits.password_delay_ms = lambda wrong, since: 0  # type: ignore[assignment]
    with tempfile.TemporaryDirectory() as folder:
        clock = FakeClock()
        world = make_world(make_runtime(Path(folder) / "data", clock, PdfEngine(workers=1)), clock)
        submit_form(sign_in_browser(world, world.pia), "/account/password", password="correct horse battery")
        times: dict[str, list[float]] = {email: [] for email in EMAILS}
        for _ in range(rounds):
            for email in EMAILS:
                times[email].append(measure_attempt_ms(world, email))
    medians = [median(found) for found in times.values()]
    print(", ".join(f"{email}: {value:.2f} ms" for email, value in zip(EMAILS, medians, strict=True)))
    return 0 if check_bound("apart", max(medians) - min(medians), 5, "ms") else 1


if __name__ == "__main__":
    sys.exit(main(read_amount(100, 2)))
