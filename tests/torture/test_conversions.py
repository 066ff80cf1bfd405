"""The short form of ``conversions``: innocent clients get correct responses; times are not checked."""

from pathlib import Path

from tests.torture.conversions import CLIENTS, build_attack, measure_conversions
from tests.torture.flooded_server import open_flooded_server
from tests.torture.rendering import attack_in_background, measure_uploads


def test_slow_conversions_of_one_account_do_not_affect_others(tmp_path: Path) -> None:
    with open_flooded_server(tmp_path) as stage:
        attack = build_attack(stage, rows=50)
        with attack_in_background(attack, CLIENTS) as get_statuses:
            measure_uploads(stage, 1, 1)
            times = measure_conversions(stage, 2), measure_uploads(stage, 2, 3)
    assert [dict(each.statuses) for each in times] == [{200: 2}, {200: 3}]
    assert set(get_statuses()) <= {200, 503}
