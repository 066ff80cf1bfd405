"""Documents that attack the engine end in a refusal or an answer, soon, and the engine lives on (F12, M23)."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from docshare.contract.problems import Problem
from docshare.server.pdf.engine import PdfEngine, UnrenderableError
from tests.support.hostile_pdfs import HOSTILE
from tests.support.pdfs import simple_pdf

Put = Callable[..., Path]
TIMEOUT_S = 2.0
HANG_LIMIT_S = 30.0  # a question that takes longer was not ended by the engine


@pytest.fixture(scope="module")
def strict() -> Iterator[PdfEngine]:
    """Tight limits, so that bombs go off quickly."""
    engine = PdfEngine(workers=1, memory_bytes=320 << 20, timeout_s=TIMEOUT_S)
    yield engine
    engine.close()


def measure_outcome(question: Callable[[], object]) -> str:
    """How the question ended, and that it ended in time (a worn worker may be replaced once on the way)."""
    start = time.monotonic()
    try:
        question()
        ended = "answered"
    except UnrenderableError:
        ended = "unrenderable"
    except Problem as problem:
        ended = problem.code
    assert time.monotonic() - start < HANG_LIMIT_S
    return ended


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_ends_soon_and_the_engine_lives(strict: PdfEngine, put: Put, name: str) -> None:
    path = put(HOSTILE[name]())
    assert measure_outcome(lambda: strict.inspect(path)) in ("answered", "unprocessable")
    assert measure_outcome(lambda: strict.render(path, 1, 800)) in ("answered", "unrenderable")
    assert measure_outcome(lambda: strict.text(path, 1)) in ("answered", "unrenderable")
    assert strict.render(put(simple_pdf(1), "good.pdf"), 1, 800)


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
def test_what_becomes_of_the_page(strict: PdfEngine, put: Put, name: str, expected: str) -> None:
    path = put(HOSTILE[name]())
    assert measure_outcome(lambda: strict.render(path, 1, 800)) == expected


@pytest.mark.parametrize("name", ["looping_page_tree", "boasting_count"])
def test_a_lying_page_tree_is_unprocessable(strict: PdfEngine, put: Put, name: str) -> None:
    path = put(HOSTILE[name]())
    assert measure_outcome(lambda: strict.inspect(path)) == "unprocessable"


def test_a_page_with_thirty_thousand_links_offers_two_thousand(strict: PdfEngine, put: Put) -> None:
    assert len(strict.text(put(HOSTILE["many_links"]()), 1).links) == 2000
