"""A server that is killed while it delivers loses no delivery."""

from pathlib import Path

from tests.support.delivery_kills import kill_during_deliveries


def test_no_delivery_is_lost_by_a_kill_and_only_those_under_way_come_twice(tmp_path: Path) -> None:
    account = kill_during_deliveries(tmp_path, rounds=3, seed=5)
    assert account.kills == 3
    assert account.claimed > 0, "no kill fell into the middle of a delivery"
    assert account.lost == 0
    assert account.again <= account.claimed
    assert account.wrong == []
