"""The short form of ``cluster``."""

from pathlib import Path

from tests.torture import cluster


def test_no_acknowledged_write_is_lost_if_instances_and_engines_fail(tmp_path: Path) -> None:
    tally = cluster.run_chaos(tmp_path, seconds=20, clients=6, outage_s=3)
    assert tally.problems == []
    assert tally.kills >= 1
    assert tally.uploads
    assert tally.downloads
