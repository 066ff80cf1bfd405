"""The API description and the server put side by side by schemathesis: every answer is one that the description
lists, with its headers and its shape; what the description allows is taken, and what it forbids is not; no credential
is ignored; and nothing makes the server fail.

Nothing is left to chance and the budget is small; ``tests/benchmarks/schemathesis_long.py`` is the long run.
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
    from tests.support.cast import World

BUDGET = {
    "free": ["--mode", "positive", "--max-examples", "1"],
    "basic": ["--mode", "positive", "--max-examples", "1"],
    "pro": ["--max-examples", "2"],
}


@pytest.fixture(scope="module")
def fuzz_instance(tmp_path_factory: pytest.TempPathFactory, engine: PdfEngine, cert: Path) -> Iterator[FuzzInstance]:
    from tests.support.cast import close_world, make_runtime, make_world

    made: list[World] = []

    def build(**settings: Any) -> World:
        clock = FakeClock()
        made.append(make_world(make_runtime(tmp_path_factory.mktemp("data"), clock, engine, **settings), clock))
        return made[-1]

    with open_fuzz_instance(cert, build) as running:
        yield running
    for world in made:
        close_world(world)


@pytest.mark.parametrize("plan", BUDGET)
def test_the_description_and_the_server_agree_for_an_account_on_every_plan(
    fuzz_instance: FuzzInstance, plan: str, tmp_path: Path
) -> None:
    done = run_schemathesis(fuzz_instance, plan, tmp_path, "--generation-deterministic", *BUDGET[plan])
    assert done.returncode == 0, done.stdout + done.stderr
