"""Hostile documents end with a result or an error in time, and the engine survives."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from docshare.contract.problems import Problem
from docshare.server.pdf.engine import PdfEngine, UnrenderableError
from tests.support.documents.hostile_pdfs import HOSTILE
from tests.support.documents.pdfs import simple_pdf

Put = Callable[..., Path]
TIMEOUT_S = 2.0
HANG_LIMIT_S = 30.0  # the engine did not stop a job that takes longer


@pytest.fixture(scope="module")
def strict_engine() -> Iterator[PdfEngine]:
    """Return an engine with tight limits, which bombs exceed quickly."""
    engine = PdfEngine(workers=1, memory_bytes=320 << 20, timeout_s=TIMEOUT_S)
    engine._patience_s = 3 * TIMEOUT_S  # by the clock; on a busy machine, the processor time is less
    yield engine
    engine.close()


def measure_outcome(run_job: Callable[[], object]) -> str:
    """Return the outcome of the job and check that it ended in time, even if a worker was replaced once."""
    start = time.monotonic()
    try:
        run_job()
        outcome = "answered"
    except UnrenderableError:
        outcome = "unrenderable"
    except Problem as problem:
        outcome = problem.code
    assert time.monotonic() - start < HANG_LIMIT_S
    return outcome


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_ends_in_time_and_the_engine_survives(
    strict_engine: PdfEngine, write_file: Put, name: str
) -> None:
    path = write_file(HOSTILE[name]())
    assert measure_outcome(lambda: strict_engine.inspect(path)) in ("answered", "unprocessable")
    assert measure_outcome(lambda: strict_engine.render(path, 1, 800)) in ("answered", "unrenderable")
    assert measure_outcome(lambda: strict_engine.text(path, 1)) in ("answered", "unrenderable")
    assert strict_engine.render(write_file(simple_pdf(1), "good.pdf"), 1, 800)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("memory_bomb", "unrenderable"),
        ("slow_page", "unrenderable"),
        ("double_deflated", "unrenderable"),
        ("deep_page_tree", "unrenderable"),
        ("looping_xref", "answered"),
        ("nested_arrays", "answered"),
    ],
)
def test_a_hostile_page_has_the_expected_outcome(
    strict_engine: PdfEngine, write_file: Put, name: str, expected: str
) -> None:
    path = write_file(HOSTILE[name]())
    assert measure_outcome(lambda: strict_engine.render(path, 1, 800)) == expected


@pytest.mark.parametrize("name", ["looping_page_tree", "boasting_count"])
def test_a_forged_page_tree_is_unprocessable(strict_engine: PdfEngine, write_file: Put, name: str) -> None:
    path = write_file(HOSTILE[name]())
    assert measure_outcome(lambda: strict_engine.inspect(path)) == "unprocessable"


def test_a_page_returns_at_most_2000_links(strict_engine: PdfEngine, write_file: Put) -> None:
    assert len(strict_engine.text(write_file(HOSTILE["many_links"]()), 1).links) == 2000
