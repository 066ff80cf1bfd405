"""The attacks of ``rendering`` in short: whoever is innocent is served, whatever the clock says."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.torture.rendering import ATTACKS, Stage, attacked, read, stage_in, upload


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """One server for all attacks: each comes from accounts of its own."""
    folder: Path = tmp_path_factory.mktemp("attacked")
    with stage_in(folder) as made:
        yield made


@pytest.mark.parametrize("name", ["images", "harmless_pages_between"])
def test_an_attack_on_the_engine_costs_nobody_else_a_page_or_an_upload(stage: Stage, name: str) -> None:
    with attacked(ATTACKS[name](stage)) as answered:
        seen = read(stage, len(name), 8), upload(stage, len(name), 3)
    assert [dict(each.statuses) for each in seen] == [{200: 8}, {200: 3}]
    assert set(answered()) <= {200, 422, 503}
