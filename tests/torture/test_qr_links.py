"""The short form of ``qr_links``."""

from pathlib import Path

from tests.support.people.cast import World
from tests.torture import qr_links


def test_two_decoders_read_the_exact_links(world: World, tmp_path: Path) -> None:
    figures = qr_links.check_links(world, tmp_path, links=12)
    assert figures.problems == []
    assert figures.exact == {"zbar": 12, "zxing": 12}
