"""schemathesis over the whole API for minutes: python -m tests.benchmarks.schemathesis_long [MINUTES] [SEED]

Every plan gets a third of the time (12 minutes unless told otherwise), with all phases and a seed that is a new one
each time. What it finds is printed with the request that shows it; ends with 1 if there is anything.
"""

import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from docshare.server.pdf.engine import Engine
from tests.support.cast import World, leave, make_runtime, make_world
from tests.support.clock import Clock
from tests.support.fuzzing.run import schemathesis
from tests.support.fuzzing.stage import PLANS, stage_at
from tests.support.source import make_certificate

MINUTES = 12.0


def main() -> int:
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else MINUTES
    seed = sys.argv[2] if len(sys.argv) > 2 else str(random.randrange(1_000_000))
    seconds = str(max(1, round(minutes * 60 / len(PLANS))))
    with tempfile.TemporaryDirectory() as folder:
        failed = [plan for plan in PLANS if not _agrees(Path(folder) / plan, plan, seed, seconds)]
    print("found something on:" if failed else "found nothing", *failed)
    return 1 if failed else 0


def _agrees(folder: Path, plan: str, seed: str, seconds: str) -> bool:
    """Play on a fresh stage, print what schemathesis says, and tell whether it found nothing."""
    engine = Engine(workers=1)
    made: list[World] = []

    def build(**settings: Any) -> World:
        clock = Clock()
        made.append(make_world(make_runtime(folder, clock, engine, **settings), clock))
        return made[-1]

    folder.mkdir()
    with stage_at(make_certificate(folder), build) as stage:
        done = schemathesis(stage, plan, folder, "--seed", seed, "--max-time", seconds)
    for world in made:
        leave(world)
    engine.close()
    print(f"--- {plan}", done.stdout, done.stderr, sep="\n", flush=True)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
