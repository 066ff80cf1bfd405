"""The short form of ``oembed_hostile``."""

from tests.support.people.cast import World
from tests.torture import oembed_hostile


def test_hostile_urls_cause_no_problem(world: World) -> None:
    figures = oembed_hostile.check_addresses(world, most=40)
    assert figures.problems == []
    assert figures.addresses == 40
