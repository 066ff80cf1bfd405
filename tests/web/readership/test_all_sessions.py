"""The page of all sessions of a file, and their CSV file."""

import csv
import io
from typing import Any

import pytest

from docshare.server.services.readership import report as reporting
from docshare.server.web.readership import report_sessions
from tests.support.browsers.markup import HtmlElement, parse_html
from tests.support.owner.browser import count_statements, sign_in_browser
from tests.support.people.cast import World
from tests.support.people.reader import FakeReader, end_all_sessions
from tests.web.readership.test_ranges import DAY_S, read_file, read_pages

__all__ = ["read_file"]


def list_starts(page: HtmlElement) -> list[str]:
    """Return when the sessions of the page began."""
    rows = page.find_one("table", class_="sessions").find_one("tbody").find_all("tr")
    return [row.find_all("time")[0].attrs["datetime"] for row in rows]


def find_step(page: HtmlElement, name: str) -> str | None:
    found = [link.attrs["href"] for link in page.find_one("nav", class_="session-steps").find_all("a")
             if link.words == name]  # fmt: skip
    return found[0] if found else None


def test_older_links_reach_every_session_once(
    world: World, read_file: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_sessions, "PAGE_SIZE", 2)
    http = sign_in_browser(world, world.pia)
    address: str | None = f"/readership/{read_file['shortId']}/sessions"
    seen, pages = [], 0
    while address:
        page = parse_html(http.get(address).text)
        seen += list_starts(page)
        assert (find_step(page, "Newest") is None) is (pages == 0)
        address, pages = find_step(page, "Older"), pages + 1
    assert (len(seen), pages) == (5, 3)
    assert seen == sorted(seen, reverse=True)


def test_the_report_links_to_all_sessions_of_its_days(world: World, read_file: dict[str, Any]) -> None:
    http = sign_in_browser(world, world.pia)
    report = parse_html(http.get(f"/readership/{read_file['uuid']}?range=7d").text)
    address = report.find_one("p", class_="more-sessions").find_one("a").attrs["href"]
    assert address == f"/readership/{read_file['uuid']}/sessions?range=7d"
    page = parse_html(http.get(address).text)
    assert len(list_starts(page)) == 4
    trail = [link.attrs["href"] for link in page.find_one("nav", class_="trail").find_all("a")]
    uuid = read_file["uuid"]
    assert trail == ["/files", f"/files/{uuid}", f"/readership/{uuid}?range=7d"]
    assert find_step(page, "Download as CSV") == f"/readership/{uuid}/sessions.csv?range=7d"


def test_the_page_names_what_was_not_counted_and_links_to_the_reasons(world: World, read_file: dict[str, Any]) -> None:
    silent = FakeReader(world, read_file["shortId"], address="198.51.100.9")
    silent.read_page(7, input=False)
    silent.leave()
    end_all_sessions(world)
    http, uuid = sign_in_browser(world, world.pia), read_file["uuid"]
    whole, days = (
        parse_html(http.get(f"/readership/{uuid}/sessions{query}").text).find_one("p", class_="uncounted-about")
        for query in ("", "?range=7d")
    )
    assert "Not counted: 1 opened it without touching anything." in whole.words
    assert "Not counted:" not in days.words
    address = days.find_one("a").attrs["href"]
    assert address == f"/readership/{uuid}?range=7d#uncounted-heading"
    report = parse_html(http.get(address.partition("#")[0]).text)
    assert report.find_one("h3", id="uncounted-heading").words == "Not counted"


@pytest.mark.parametrize("before", ["", "x", "1-", "99999999999999999-1", "-1-1"])
def test_an_invalid_cursor_lists_the_newest_sessions(world: World, read_file: dict[str, Any], before: str) -> None:
    page = sign_in_browser(world, world.pia).get(f"/readership/{read_file['uuid']}/sessions?before={before}")
    assert len(list_starts(parse_html(page.text))) == 5


def test_the_csv_file_has_the_sessions_of_the_days_without_formulas(world: World, read_file: dict[str, Any]) -> None:
    link = world.pia.post(f"/api/v1/files/{read_file['uuid']}/variants", json={"label": "=1+1"}).get_json()
    read_pages(world, link["shortId"], {1: 7, 2: 3})
    http = sign_in_browser(world, world.pia)
    answer = http.get(f"/readership/{read_file['uuid']}/sessions.csv?range=7d")
    assert answer.content_type == "text/csv; charset=utf-8"
    assert "sessions.csv" in answer.headers["Content-Disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert len(rows) == 5
    assert (rows[0]["link"], rows[0]["timeMs"], rows[0]["pageTimesMs"]) == ("'=1+1", "10000", "1:7000 2:3000")
    assert len(http.get(f"/readership/{read_file['uuid']}/sessions.csv").text.splitlines()) == 7


def test_a_csv_file_that_cannot_have_all_sessions_says_so(
    world: World, read_file: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reporting, "MAX_RANGE_SESSIONS", 4)
    http = sign_in_browser(world, world.pia)
    page = parse_html(http.get(f"/readership/{read_file['uuid']}/sessions").text)
    address = find_step(page, "Download the newest 4 as CSV")
    assert address is not None
    assert len(http.get(address).text.splitlines()) == 5


@pytest.mark.parametrize("tail", ["sessions", "sessions.csv"])
def test_only_the_owner_on_pro_sees_the_sessions(world: World, read_file: dict[str, Any], tail: str) -> None:
    path = f"/readership/{read_file['uuid']}/{tail}"
    assert world.app.test_client().get(path).status_code == 403
    assert sign_in_browser(world, world.fay).get(path).status_code == 404
    own = world.bea.upload()
    answer = sign_in_browser(world, world.bea).get(f"/readership/{own['uuid']}/{tail}")
    assert answer.status_code == 403
    assert "text/html" in answer.content_type


def test_the_page_takes_the_same_number_of_statements_for_any_number_of_sessions(world: World) -> None:
    made = world.pia.upload()
    http, address = sign_in_browser(world, world.pia), f"/readership/{made['uuid']}/sessions"
    read_pages(world, made["shortId"], {1: 9})
    few = count_statements(world, http, address)
    for host in range(5):
        world.clock.advance(seconds=DAY_S)
        read_pages(world, made["shortId"], {1: 9, 2: 9}, host)
    assert count_statements(world, http, address) == few


def test_a_file_without_readers_has_an_empty_list(world: World) -> None:
    made = world.pia.upload()
    page = parse_html(sign_in_browser(world, world.pia).get(f"/readership/{made['uuid']}/sessions").text)
    assert "No session has finished." in page.words
    assert page.find_all("table") == []
