"""Run schemathesis on the whole API: python -m tests.benchmarks.schemathesis_long [MINUTES] [SEED]

Each plan gets a third of the time (12 minutes by default), with all phases and a random seed by default.
Prints every failure with its request, and the number of cases.
Exits with 1 if there is a failure.
"""

import random
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from docshare.server.pdf.engine import PdfEngine
from tests.benchmarks.comparison import read_amount
from tests.support.clock import FakeClock
from tests.support.fuzzing.instance import PLANS, open_fuzz_instance
from tests.support.fuzzing.run import run_schemathesis
from tests.support.outside.import_source import make_certificate
from tests.support.people.cast import World, close_world, make_runtime, make_world

MINUTES = 12.0
_GENERATED = re.compile(r"(\d+) generated")
_cases: dict[str, int] = {}
"""Number of requests that schemathesis sent, by plan."""


def main() -> int:
    minutes = read_amount(MINUTES, 0.1)
    seed = sys.argv[2] if len(sys.argv) > 2 else str(random.randrange(1_000_000))
    seconds = str(max(1, round(minutes * 60 / len(PLANS))))
    with tempfile.TemporaryDirectory() as folder:
        failed = [plan for plan in PLANS if not _run_plan(Path(folder) / plan, plan, seed, seconds)]
    print(f"{sum(_cases.values())} cases:", ", ".join(f"{cases} on {plan}" for plan, cases in _cases.items()))
    print("failures on:" if failed else "no failures", *failed)
    return 1 if failed else 0


def _run_plan(folder: Path, plan: str, seed: str, seconds: str) -> bool:
    """Run schemathesis on a new instance, print its output, and return whether there was no failure."""
    engine = PdfEngine(workers=1)
    worlds: list[World] = []

    def build(**settings: Any) -> World:
        clock = FakeClock()
        worlds.append(make_world(make_runtime(folder, clock, engine, **settings), clock))
        return worlds[-1]

    folder.mkdir()
    with open_fuzz_instance(make_certificate(folder), build) as stage:
        done = run_schemathesis(stage, plan, folder, "--seed", seed, "--max-time", seconds)
    for world in worlds:
        close_world(world)
    engine.close()
    _cases[plan] = sum(map(int, _GENERATED.findall(done.stdout)))
    print(f"--- {plan}", done.stdout, done.stderr, sep="\n", flush=True)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
