"""The short form of ``mixed_load``: every kind of request for some seconds."""

from tests.torture import mixed_load

KINDS = {"upload", "detail", "events", "page", "reading", "image", "settings"}


def has_everything(tally: mixed_load.LoadTally) -> bool:
    """Return whether each of ``KINDS`` was answered, and a sample has a worker: there is none at the start."""
    return tally.ms.keys() >= KINDS and any(one.worker_mib > 0 and one.processes > 1 for one in tally.samples)


def test_a_mixed_load_gets_only_expected_responses() -> None:
    """Every kind of request gets the status that it should have. A slow server needs more time for one of each."""
    tally = mixed_load.run_load(minutes=0.15, clients=6, rate=60, sample_s=1, is_complete=has_everything)
    assert tally.problems == []
    assert all(sample.server_mib > sample.worker_mib and sample.descriptors > 0 for sample in tally.samples)


def test_growth_is_judged_after_the_warm_up() -> None:
    """Memory, descriptors and threads may grow for ten minutes, and must then stay flat."""

    def make_samples(minutes: int, **per_hour: float) -> list[mixed_load.LoadSample]:
        samples = []
        for minute in range(minutes + 1):
            late = max(0, minute - 10) / 60
            early = min(minute, 10) * 20.0  # of the warm-up
            values = {name: early + late * per_hour.get(name, 0) for name in grown}
            samples.append(mixed_load.LoadSample(at=minute * 60.0, wal_mib=1.0, **values))
        return samples

    grown = {
        "server_mib": "memory of the server",
        "worker_mib": "memory of the largest worker",
        "processes": "processes",
        "descriptors": "descriptors",
        "threads": "threads",
    }
    assert mixed_load.find_growth(make_samples(120)) == []
    for name, title in grown.items():
        assert [line.split(":")[0] for line in mixed_load.find_growth(make_samples(120, **{name: 6}))] == [title]
    assert mixed_load.find_growth(make_samples(9)) == []


def test_an_unexpected_status_is_a_problem() -> None:
    tally = mixed_load.LoadTally()
    tally.add("detail", 200, 1.0, "")
    tally.add("detail", 404, 1.0, "missing")
    tally.add("variant", 429, 1.0, "busy")
    assert tally.problems == ["detail: 404 'missing'", "variant: 429 'busy'"]
