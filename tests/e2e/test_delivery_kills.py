"""A server that is killed while it sends deliveries loses none of them."""

from pathlib import Path

from tests.support.servers.delivery_kills import kill_during_deliveries


def test_a_kill_loses_no_delivery_and_repeats_only_those_in_progress(tmp_path: Path) -> None:
    account = kill_during_deliveries(tmp_path, rounds=3, seed=5)
    assert account.kills == 3
    assert account.claimed_deliveries > 0, "no kill interrupted a delivery"
    assert account.lost_deliveries == 0
    assert account.repeated_deliveries <= account.claimed_deliveries
    assert account.problems == []
