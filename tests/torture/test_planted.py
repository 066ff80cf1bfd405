"""The short form of ``planted``."""

from pathlib import Path

from tests.torture import planted


def test_no_file_of_a_server_has_a_planted_text_or_a_destroyed_key(tmp_path: Path) -> None:
    assert planted.run_planted(tmp_path, 5, memory=False) == []
