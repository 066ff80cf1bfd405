"""The short form of ``encryption``."""

from pathlib import Path

from tests.torture import encryption


def test_every_change_of_stored_bytes_is_reported(tmp_path: Path) -> None:
    assert encryption.damage_stored_bytes(tmp_path, flips=10, sizes=(0, 150_000)) == []


def test_documents_are_readable_after_a_kill(tmp_path: Path) -> None:
    assert encryption.kill_at_random(tmp_path, kills=3, clear=2) == []
