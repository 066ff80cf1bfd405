"""The short form of ``deadlines``: every deadline, and some of them with a wrong clock."""

import pytest

from docshare.server.pdf.engine import PdfEngine
from tests.torture import deadlines


@pytest.mark.parametrize("name", deadlines.DEADLINES)
def test_a_deadline_is_exact_to_the_second(engine: PdfEngine, name: str) -> None:
    assert deadlines.check_deadline(engine, name) == []


@pytest.mark.parametrize("jump", ["an hour behind", "an hour ahead"])
@pytest.mark.parametrize(
    "name", ["open page, 12 h", "signed-in session, 30 d", "purge of Pro, 30 d", "expiry in 365 d"]
)
def test_a_temporary_clock_error_does_not_trigger_a_deadline(engine: PdfEngine, name: str, jump: str) -> None:
    assert deadlines.check_deadline(engine, name, deadlines.JUMPS[jump]) == []


def test_deadlines_of_all_lengths_are_checked() -> None:
    assert deadlines.find_missing_lengths() == []
