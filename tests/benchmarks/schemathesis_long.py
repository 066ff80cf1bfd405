"""schemathesis over the whole API for minutes: python -m tests.benchmarks.schemathesis_long [MINUTES] [SEED]

Every plan gets a third of the time (12 minutes unless told otherwise), with all phases and a seed that is a new one
each time. What it finds is printed with the request that shows it, and at the end how many cases there were; ends with
1 if there is anything.
"""

import random
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from docshare.server.pdf.engine import PdfEngine
from tests.benchmarks.comparison import read_amount
from tests.support.cast import World, close_world, make_runtime, make_world
from tests.support.clock import FakeClock
from tests.support.fuzzing.instance import PLANS, open_fuzz_instance
from tests.support.fuzzing.run import run_schemathesis
from tests.support.import_source import make_certificate

MINUTES = 12.0
_GENERATED = re.compile(r"(\d+) generated")
_cases: dict[str, int] = {}
"""How many requests schemathesis made, by plan."""


def main() -> int:
    minutes = read_amount(MINUTES, 0.1)
    seed = sys.argv[2] if len(sys.argv) > 2 else str(random.randrange(1_000_000))
    seconds = str(max(1, round(minutes * 60 / len(PLANS))))
    with tempfile.TemporaryDirectory() as folder:
        failed = [plan for plan in PLANS if not _run_plan(Path(folder) / plan, plan, seed, seconds)]
    print(f"{sum(_cases.values())} cases:", ", ".join(f"{cases} on {plan}" for plan, cases in _cases.items()))
    print("found something on:" if failed else "found nothing", *failed)
    return 1 if failed else 0


def _run_plan(folder: Path, plan: str, seed: str, seconds: str) -> bool:
    """Play on a fresh stage, print what schemathesis says, and tell whether it found nothing."""
    engine = PdfEngine(workers=1)
    made: list[World] = []

    def build(**settings: Any) -> World:
        clock = FakeClock()
        made.append(make_world(make_runtime(folder, clock, engine, **settings), clock))
        return made[-1]

    folder.mkdir()
    with open_fuzz_instance(make_certificate(folder), build) as stage:
        done = run_schemathesis(stage, plan, folder, "--seed", seed, "--max-time", seconds)
    for world in made:
        close_world(world)
    engine.close()
    _cases[plan] = sum(map(int, _GENERATED.findall(done.stdout)))
    print(f"--- {plan}", done.stdout, done.stderr, sep="\n", flush=True)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
