"""The short form of ``office_hostile``: every twelfth document."""

from pathlib import Path

from tests.support.people.cast import World
from tests.torture import office_hostile


def test_hostile_documents_cause_no_problem(world: World, tmp_path: Path) -> None:
    figures = office_hostile.check_documents(world, tmp_path, every=12)
    assert figures.problems == []
    assert figures.documents >= 10
