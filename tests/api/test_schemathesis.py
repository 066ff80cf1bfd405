"""Schemathesis compares the API description with the server.

Every response is one that the description lists, with its headers and schema. The server accepts what the description
allows and rejects what it forbids. No credential is ignored, and no request causes a server error.


The run is deterministic and short; ``tests/benchmarks/schemathesis_long.py`` is the long run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from docshare.server.pdf.engine import PdfEngine
from tests.support.clock import FakeClock
from tests.support.fuzzing.instance import FuzzInstance, open_fuzz_instance
from tests.support.fuzzing.run import run_schemathesis

if TYPE_CHECKING:
    from tests.support.people.cast import World

OPTIONS_BY_PLAN = {
    "free": ["--mode", "positive", "--max-examples", "1"],
    "basic": ["--mode", "positive", "--max-examples", "1"],
    "pro": ["--max-examples", "2"],
}


@pytest.fixture(scope="module")
def fuzz_instance(tmp_path_factory: pytest.TempPathFactory, engine: PdfEngine, cert: Path) -> Iterator[FuzzInstance]:
    from tests.support.people.cast import close_world, make_runtime, make_world

    made: list[World] = []

    def build(**settings: Any) -> World:
        clock = FakeClock()
        made.append(make_world(make_runtime(tmp_path_factory.mktemp("data"), clock, engine, **settings), clock))
        return made[-1]

    with open_fuzz_instance(cert, build) as running:
        yield running
    for world in made:
        close_world(world)


@pytest.mark.parametrize("plan", OPTIONS_BY_PLAN)
def test_the_server_conforms_to_the_description_on_every_plan(
    fuzz_instance: FuzzInstance, plan: str, tmp_path: Path
) -> None:
    done = run_schemathesis(fuzz_instance, plan, tmp_path, "--generation-deterministic", *OPTIONS_BY_PLAN[plan])
    assert done.returncode == 0, done.stdout + done.stderr
