"""Check that response times do not reveal which emails have an account.

``python -m tests.benchmarks.password_sign_in [ROUNDS]`` signs in with a wrong password, alternating between an account
with a password, one without a password, and an unknown email; the medians may differ by at most 5 ms. Run it on an
idle machine.
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
from tests.support.clock import FakeClock
from tests.support.owner.browser import sign_in_browser
from tests.support.owner.forms import submit_form
from tests.support.people.cast import World, make_runtime, make_world

EMAILS = ("pia@example.com", "fay@example.com", "nobody@example.com")


def measure_attempt_ms(world: World, email: str) -> float:
    """Return the duration of one rejected attempt in milliseconds."""
    began = time.perf_counter()
    answer = world.app.test_client().post("/login", data={"email": email, "password": "wrong, but long"})
    assert answer.status_code == 403
    return (time.perf_counter() - began) * 1000


def main(rounds: int) -> int:
    """Measure, print the results, and return the exit code."""
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
    return 0 if check_bound("difference", max(medians) - min(medians), 5, "ms") else 1


if __name__ == "__main__":
    sys.exit(main(read_amount(100, 2)))
