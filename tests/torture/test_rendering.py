"""The short form of ``rendering``: innocent clients get correct responses; times are not checked."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.torture.flooded_server import FloodedServer, open_flooded_server
from tests.torture.rendering import (
    ATTACKS,
    attack_in_background,
    count_clients,
    measure_reading,
    measure_uploads,
)


@pytest.fixture(scope="module")
def flooded_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FloodedServer]:
    """Return one server for all attacks, each from different accounts."""
    folder: Path = tmp_path_factory.mktemp("attacked")
    with open_flooded_server(folder) as server:
        yield server


@pytest.mark.parametrize(
    "name",
    [
        "images",
        "harmless_pages_between",
        "medium_pages_by_proxy",
        "tiles",
        "searches",
        "pages_and_codes",
        "cached_parts",
    ],
)
def test_an_attack_on_the_engine_does_not_affect_other_accounts(flooded_server: FloodedServer, name: str) -> None:
    with attack_in_background(ATTACKS[name](flooded_server), count_clients(name)) as get_statuses:
        times = measure_reading(flooded_server, len(name), 8), measure_uploads(flooded_server, len(name), 3)
    assert [dict(each.statuses) for each in times] == [{200: 8}, {200: 3}]
    assert set(get_statuses()) <= {200, 404, 422, 503}
