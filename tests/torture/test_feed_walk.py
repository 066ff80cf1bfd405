"""The short form of ``feed_walk``."""

from pathlib import Path

from tests.torture import feed_walk


def test_every_poller_sees_every_event_once_despite_a_kill(tmp_path: Path) -> None:
    """Event IDs only increase and are never reused, even if the server is killed."""
    tally = feed_walk.walk_feed(tmp_path, events=120, kills=1)
    assert feed_walk.find_problems(tally) == []
    assert (tally.acknowledged >= 120, tally.kills) == (True, 1)
