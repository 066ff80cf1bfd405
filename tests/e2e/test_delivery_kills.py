"""A server that is killed while it delivers loses no delivery."""

from pathlib import Path

from tests.support.delivery_kills import kill_during_deliveries


def test_no_delivery_is_lost_by_a_kill_and_only_those_under_way_come_twice(tmp_path: Path) -> None:
    account = kill_during_deliveries(tmp_path, rounds=3, seed=5)
    assert account.kills == 3
    assert account.claimed_deliveries > 0, "no kill fell into the middle of a delivery"
    assert account.lost_deliveries == 0
    assert account.repeated_deliveries <= account.claimed_deliveries
    assert account.problems == []
