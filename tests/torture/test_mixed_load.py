"""The short form of ``mixed_load``: every kind of request for some seconds."""

from tests.torture import mixed_load


def test_a_mixed_load_gets_only_expected_responses() -> None:
    """Every kind of request gets the status that it should have."""
    tally = mixed_load.run_load(minutes=0.15, clients=6, rate=60)
    assert tally.problems == []
    assert {"upload", "detail", "events", "page", "reading", "image", "settings"} <= tally.ms.keys()
    assert all(sample.rss_mib > 0 and sample.descriptors > 0 for sample in tally.samples)


def test_growth_is_judged_after_the_warm_up() -> None:
    """Memory, descriptors and threads may grow for ten minutes, and must then stay flat."""

    def make_samples(minutes: int, descriptors_per_hour: float, threads_per_hour: float) -> list[mixed_load.LoadSample]:
        samples = []
        for minute in range(minutes + 1):
            late = max(0, minute - 10) / 60
            early = min(minute, 10) * 20  # of the warm-up
            descriptors, threads = round(early + late * descriptors_per_hour), round(early + late * threads_per_hour)
            samples.append(mixed_load.LoadSample(minute * 60.0, 300.0 + early, descriptors, threads, 1.0))
        return samples

    assert mixed_load.find_growth(make_samples(120, 0, 0)) == []
    assert [line.split(":")[0] for line in mixed_load.find_growth(make_samples(120, 6, 0))] == ["descriptors"]
    assert [line.split(":")[0] for line in mixed_load.find_growth(make_samples(120, 0, 6))] == ["threads"]
    assert mixed_load.find_growth(make_samples(9, 0, 0)) == []


def test_an_unexpected_status_is_a_problem() -> None:
    tally = mixed_load.LoadTally()
    tally.add("detail", 200, 1.0, "")
    tally.add("detail", 404, 1.0, "missing")
    tally.add("variant", 429, 1.0, "busy")
    assert tally.problems == ["detail: 404 'missing'", "variant: 429 'busy'"]
