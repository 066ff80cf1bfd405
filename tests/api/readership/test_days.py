"""The readership report over a range of days."""

from typing import Any

import pytest

from docshare.contract.limits import REPORT_CONTACTS
from tests.support.engines.rows import insert_gate_response
from tests.support.people.cast import World
from tests.web.readership.test_ranges import read_file, read_pages

__all__ = ["read_file"]


def get_report(world: World, made: dict[str, Any], query: str) -> dict[str, Any]:
    answer = world.pia.get(f"/api/v1/files/{made['uuid']}/readership{query}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.get_json()
    return found


@pytest.mark.parametrize(
    ("query", "sessions", "days"),
    [
        ("", 5, 30),
        ("?from=2026-09-26&to=2026-10-02", 4, 7),
        ("?from=2026-09-26", 4, 7),
        ("?from=2026-09-29T23:59:59%2B02:00&to=2026-09-29", 3, 1),
        ("?from=2026-09-22&to=2026-09-24", 0, 3),
        ("?from=2026-09-26&to=2027-01-01", 4, 7),
    ],
)
def test_the_report_has_the_sessions_of_the_days(
    world: World, read_file: dict[str, Any], query: str, sessions: int, days: int
) -> None:
    found = get_report(world, read_file, query)
    assert found["summary"]["totalSessions"] == sessions
    assert len(found["sessions"]) == sessions
    assert len(found["viewsOverTime"]) == days


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("?from=yesterday", "from"),
        ("?from=", "from"),
        ("?from=20260926", "from"),
        ("?from=2026-13-01", "from"),
        ("?from=1999-12-31", "from"),
        ("?from=2026-09-26&to=x", "to"),
        ("?to=2026-09-26", "from"),
        ("?from=2026-09-27&to=2026-09-26", "from"),
        ("?from=2099-01-01&to=2099-01-02", "from"),
        ("?from=2020-01-01&to=2026-09-26", "from"),
    ],
)
def test_an_invalid_day_is_a_bad_request(world: World, read_file: dict[str, Any], query: str, field: str) -> None:
    for path in ("readership", "readership/pages"):
        answer = world.pia.get(f"/api/v1/files/{read_file['uuid']}/{path}{query}")
        assert answer.status_code == 400
        assert answer.get_json()["code"] == "bad_request"
        assert answer.get_json()["detail"].startswith(f"{field} must be ")


@pytest.mark.parametrize(
    ("query", "views"),
    [("", [4, 3, 1]), ("?from=2026-09-29&to=2026-09-29", [3, 3, 0]), ("?from=2026-10-01", [0, 0, 1])],
)
def test_the_pages_have_the_sessions_of_the_days(
    world: World, read_file: dict[str, Any], query: str, views: list[int]
) -> None:
    answer = world.pia.get(f"/api/v1/files/{read_file['uuid']}/readership/pages{query}")
    assert answer.status_code == 200, answer.text
    assert [page["views"] for page in answer.get_json()["pages"]] == views


def test_the_links_have_the_sessions_of_the_days_without_a_comparison(world: World) -> None:
    made = world.pia.upload()
    link = world.pia.post(f"/api/v1/files/{made['uuid']}/variants", json={"label": "Ann"}).get_json()
    read_pages(world, link["shortId"], {1: 10})
    for query, sessions in (("?from=2026-09-21", 1), ("?from=2026-09-20&to=2026-09-20", 0)):
        (row,) = get_report(world, made, query)["variants"]
        assert row["sessions"] == sessions
        assert "sessionsBefore" not in row


def test_contacts_of_the_days_do_not_depend_on_how_many_came_later(world: World) -> None:
    made = world.pia.upload()
    for number in range(REPORT_CONTACTS + 1):
        insert_gate_response(world, made["uuid"], {"mail": f"{number}@example.com"})
    with world.rt.db.write():
        world.rt.db.execute("UPDATE gate_rows SET read_at = read_at - 86400000 WHERE fields LIKE '%\"0@%'")
    assert len(get_report(world, made, "?from=2026-09-21")["contacts"]) == REPORT_CONTACTS
    (contact,) = get_report(world, made, "?from=2026-09-20&to=2026-09-20")["contacts"]
    assert contact["fields"] == {"mail": "0@example.com"}
