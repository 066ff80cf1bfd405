"""The short form of ``mixed_load``: every kind of request for some seconds."""

from tests.torture import mixed_load


def test_a_mixed_load_causes_no_server_error() -> None:
    """Every kind of request gets a response below 500."""
    tally = mixed_load.run_load(minutes=0.15, clients=6, rate=60)
    assert tally.problems == []
    assert {"upload", "detail", "events", "page", "reading", "image", "settings"} <= tally.ms.keys()
    assert all(sample.rss_mib > 0 and sample.descriptors > 0 for sample in tally.samples)
