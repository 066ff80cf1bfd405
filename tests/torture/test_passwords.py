"""The short form of ``passwords``: everybody gets the right answer during the flood; times are not checked."""

from pathlib import Path

from tests.torture.flooded_server import open_flooded_server
from tests.torture.passwords import build_attempts, enter_as_office, measure_others, share_with_password
from tests.torture.rendering import attack_in_background


def test_an_office_enters_and_others_read_during_a_flood_of_passwords(tmp_path: Path) -> None:
    with open_flooded_server(tmp_path) as stage:
        name = share_with_password(stage, 7)
        with attack_in_background(build_attempts(stage), 60) as get_statuses:
            others = measure_others(stage, 8, 5)
            office = enter_as_office(stage, name)
    assert dict(others.statuses) == {200: 10}
    assert dict(office.statuses) == {303: 80}
    assert set(get_statuses()) <= {303, 403, 429}
