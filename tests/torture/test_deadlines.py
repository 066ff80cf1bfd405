"""All checks of ``deadlines``, which take a few seconds."""

import pytest

from docshare.server.pdf.engine import PdfEngine
from tests.torture import deadlines


@pytest.mark.parametrize("name", deadlines.DEADLINES)
def test_a_deadline_is_exact_to_the_second(engine: PdfEngine, name: str) -> None:
    assert deadlines.check_deadline(engine, name) == []


@pytest.mark.parametrize(("name", "jump_ms"), deadlines.list_jumps())
def test_a_temporary_clock_error_does_not_trigger_a_deadline(engine: PdfEngine, name: str, jump_ms: int) -> None:
    assert deadlines.check_deadline(engine, name, jump_ms) == []


def test_deadlines_of_all_lengths_are_checked() -> None:
    assert deadlines.find_missing_lengths() == []
