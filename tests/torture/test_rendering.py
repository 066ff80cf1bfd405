"""The attacks of ``rendering`` in short: whoever is innocent is served, whatever the clock says."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.torture.rendering import (
    ATTACKS,
    FloodedServer,
    attack_in_background,
    measure_reading,
    measure_uploads,
    open_flooded_server,
)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FloodedServer]:
    """One server for all attacks: each comes from accounts of its own."""
    folder: Path = tmp_path_factory.mktemp("attacked")
    with open_flooded_server(folder) as made:
        yield made


@pytest.mark.parametrize("name", ["images", "harmless_pages_between"])
def test_an_attack_on_the_engine_costs_nobody_else_a_page_or_an_upload(stage: FloodedServer, name: str) -> None:
    with attack_in_background(ATTACKS[name](stage)) as answered:
        seen = measure_reading(stage, len(name), 8), measure_uploads(stage, len(name), 3)
    assert [dict(each.statuses) for each in seen] == [{200: 8}, {200: 3}]
    assert set(answered()) <= {200, 422, 503}
