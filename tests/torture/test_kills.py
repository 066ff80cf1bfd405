"""A server killed in the middle of writes loses nothing it acknowledged (longer: ``tests.torture.kills``)."""

from pathlib import Path

from tests.support.servers.replace_kills import kill_during_replacements
from tests.support.servers.upload_kills import kill_during_uploads


def test_twelve_kills_lose_no_acknowledged_upload(tmp_path: Path) -> None:
    tally = kill_during_uploads(tmp_path, 12, seed=2026)
    assert tally.kills == 12
    assert len(tally.acknowledged) >= 3, "the kills came before anything was uploaded"
    assert (tally.lost_uploads, tally.damaged_files, tally.orphans, tally.partials) == ([], [], 0, 0)


def test_six_kills_leave_every_replacement_complete_or_rolled_back(tmp_path: Path) -> None:
    """0 acknowledged writes lost, 0 applied twice, contentVersion without gaps."""
    tally = kill_during_replacements(tmp_path, 6, seed=2026)
    assert (tally.kills, tally.problems) == (6, [])
    assert tally.replacements >= 6, "the kills came before anything was replaced"
