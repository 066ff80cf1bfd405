"""The short form of ``moving``."""

from pathlib import Path

from tests.torture import moving


def test_responses_are_identical_on_postgresql_and_back_in_a_folder(tmp_path: Path) -> None:
    assert moving.move_there_and_back(tmp_path, files=4, sessions=40) == []
