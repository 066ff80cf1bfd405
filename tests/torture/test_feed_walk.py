"""The short form of ``feed_walk``."""

from pathlib import Path

from tests.torture import feed_walk


def test_every_poller_sees_every_event_once_despite_a_kill(tmp_path: Path) -> None:
    """Event IDs only increase and are never reused, even if the server is killed."""
    tally = feed_walk.walk_feed(tmp_path, events=120, kills=1)
    assert feed_walk.find_problems(tally) == []
    assert (tally.acknowledged >= 120, tally.kills) == (True, 1)


def test_the_comparison_finds_events_that_were_lost_or_invented() -> None:
    tally = feed_walk.FeedTally(events=4, acknowledged=4, kills=1, stored=[2, 3, 4, 5, 6])
    tally.ids_by_poller = [[2, 3, 4, 5, 6], [2, 3, 5, 6], [2, 3, 4, 5, 6, 7], [3, 2, 4, 5, 6]]
    assert feed_walk.find_problems(tally) == [
        "poller 1 did not receive 1 of 5 events, first 4",
        "poller 2 received 1 events that are not stored, first 7",
        "poller 3 received duplicate or reordered IDs",
    ]


def test_the_comparison_finds_downloads_that_were_acknowledged_but_not_stored() -> None:
    tally = feed_walk.FeedTally(events=5, acknowledged=4, stored=[2, 3], ids_by_poller=[[2, 3]])
    assert feed_walk.find_problems(tally) == [
        "only 4 of 5 downloads were acknowledged",
        "2 downloads are stored, but 4 were acknowledged",
    ]
