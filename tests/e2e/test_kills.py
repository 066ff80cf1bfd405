"""A server killed in the middle of uploads loses nothing it acknowledged (the long run: tests/benchmarks/kills.py)."""

from pathlib import Path

from tests.support.killing import kill_rounds


def test_a_dozen_kills_lose_no_acknowledged_upload(tmp_path: Path) -> None:
    tally = kill_rounds(tmp_path, 12, seed=2026)
    assert tally.kills == 12
    assert len(tally.acknowledged) >= 12, "the kills came before anything was uploaded"
    assert (tally.lost, tally.damaged, tally.orphans, tally.partials) == ([], [], 0, 0)
