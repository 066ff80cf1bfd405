"""The short form of ``office_hostile``: every twelfth document."""

from pathlib import Path

from tests.support.people.cast import World
from tests.torture import office_hostile


def test_hostile_documents_cause_no_problem(world: World, tmp_path: Path) -> None:
    figures = office_hostile.check_documents(world, tmp_path, every=12)
    assert figures.problems == []
    assert figures.documents >= 10
    assert len(figures.conversions_s) > 1


def test_slow_conversions_and_bombs_are_problems() -> None:
    figures = office_hostile.OfficeFigures(conversions_s=[1.0] * 90 + [7.0] * 10, slowest_bomb_s=2.0)
    assert office_hostile.find_slow(figures) == [
        "a bomb was not rejected within a second",
        "the p95 of conversions is 7.00 s",
    ]
    assert office_hostile.find_slow(office_hostile.OfficeFigures(conversions_s=[1.0] * 99 + [7.0])) == []
