"""The report page over a range of days, and its comparison with the range before."""

from typing import Any

import pytest

from docshare.contract.plans import Plan
from docshare.report import ReportInput, render_report
from docshare.server.services.accounts import accounts
from docshare.server.services.readership import report
from tests.support.browsers.markup import HtmlElement, parse_html
from tests.support.owner.browser import count_statements, sign_in_browser
from tests.support.people import reports
from tests.support.people.cast import Person, World
from tests.support.people.reader import FakeReader, end_all_sessions

DAY_S = 86_400


def read_pages(world: World, name: str, seconds: dict[int, float], host: int = 4) -> None:
    """Read each page for the given number of seconds, and leave."""
    reader = FakeReader(world, name, address=f"203.0.113.{host}")
    for page, time in seconds.items():
        reader.read_page(time, page=page)
    reader.leave()
    end_all_sessions(world)


def get_report(world: World, made: dict[str, Any], query: str, who: Person | None = None) -> HtmlElement:
    answer = sign_in_browser(world, who or world.pia).get(f"/readership/{made['uuid']}{query}")
    assert answer.status_code == 200, answer.text
    return parse_html(answer.text)


def get_tile(page: HtmlElement, name: str) -> list[str]:
    """Return the figure of a tile and the texts below it."""
    for tile in page.find_all("div", class_="tile"):
        if tile.find_one("dt").words == name:
            return [found.words for found in tile.find_all("dd")]
    raise AssertionError(name)


@pytest.fixture
def read_file(world: World) -> dict[str, Any]:
    """A file read by 1 reader on 21 September, by 3 readers on 29 September, and by 1 of them again on 2 October."""
    made = world.pia.upload()
    read_pages(world, made["shortId"], {1: 10}, host=4)
    world.clock.advance(seconds=8 * DAY_S)
    for host in (5, 6, 7):
        read_pages(world, made["shortId"], {1: 20, 2: 20}, host)
    world.clock.advance(seconds=3 * DAY_S)
    read_pages(world, made["shortId"], {3: 40}, host=7)
    return made


def test_the_only_day_of_a_range_is_a_narrow_column_in_the_middle(world: World, read_file: dict[str, Any]) -> None:
    page = get_report(world, read_file, "?from=2026-09-29&to=2026-09-29")
    (bar,) = page.find_one("figure", id="views").find_all("rect", class_="bar")
    assert (bar.attrs["x"], bar.attrs["width"]) == ("43%", "14%")


def test_seven_days_are_compared_with_the_seven_before(world: World, read_file: dict[str, Any]) -> None:
    page = get_report(world, read_file, "?range=7d")
    assert page.find_one("p", class_="range-text").words == (
        "26 Sep 2026 to 2 Oct 2026 (UTC). "
        "3 readers, 2 more than in the 7 days before (19 Sep 2026 to 25 Sep 2026)."
    )  # fmt: skip
    assert get_tile(page, "Views") == ["4", "in 4 finished sessions", "3 more"]
    assert get_tile(page, "Visitors") == ["3", "3 new, 1 returning sessions", "2 more"]
    assert get_tile(page, "Average reading time") == ["40s", "median 40s", "30s longer"]
    assert get_tile(page, "Pages seen")[-1] == "25 points more"
    assert get_tile(page, "Countries") == ["1", "1 more"]
    assert len(page.find_one("table", class_="sessions").find_one("tbody").find_all("tr")) == 4
    assert [leaf.find_one("b").words for leaf in page.find_all("li", class_="leaf")] == ["20s", "20s", "40s"]
    days = page.find_one("figure", id="views").find_one("tbody").find_all("tr")
    assert [[cell.words for cell in row.nodes if cell.tag in ("th", "td")][1] for row in days] == [
        "1", "0", "0", "3", "0", "0", "0",
    ]  # fmt: skip
    funnel = page.find_one("figure", id="funnel").find_one("tbody").find_all("tr")
    assert [row.find_all("td")[0].words for row in funnel] == ["4", "4", "1"]


def test_an_entered_range_ends_before_the_latest_sessions(world: World, read_file: dict[str, Any]) -> None:
    page = get_report(world, read_file, "?from=2026-09-21&to=2026-09-21")
    assert page.find_one("p", class_="range-text").words == (
        "21 Sep 2026 (UTC). 1 reader, 1 more than on the day before (20 Sep 2026)."
    )
    assert get_tile(page, "Views") == ["1", "in 1 finished session", "1 more"]
    assert [node.attrs["value"] for node in page.find_all("input", type="date")] == ["2026-09-21", "2026-09-21"]


def test_a_range_without_readers_is_not_an_unread_file(world: World, read_file: dict[str, Any]) -> None:
    page = get_report(world, read_file, "?from=2026-09-24&to=2026-09-22")
    assert page.find_one("p", class_="range-text").words == (
        "22 Sep 2026 to 24 Sep 2026 (UTC). 0 readers, 1 fewer than in the 3 days before (19 Sep 2026 to 21 Sep 2026)."
    )
    assert get_tile(page, "Views") == ["0", "in 0 finished sessions", "1 fewer"]
    assert page.find_all("h2", id="empty-heading") == []


def test_a_range_with_only_a_download_is_not_an_unread_file(world: World) -> None:
    """A reader without scripts has no view."""
    made = world.pia.upload()
    assert world.app.test_client().post(f"/{made['shortId']}/download").status_code == 200
    for query in ("", "?range=7d"):
        page = get_report(world, made, query)
        assert page.find_all("h2", id="empty-heading") == []
        assert get_tile(page, "Downloads")[0] == "1"


@pytest.mark.parametrize("query", ["", "?range=all", "?range=9d", "?from=2026-09-21", "?from=today&to=2026-09-21"])
def test_anything_else_is_the_report_of_all_time(world: World, read_file: dict[str, Any], query: str) -> None:
    page = get_report(world, read_file, query)
    assert get_tile(page, "Views") == ["5", "in 5 finished sessions"]
    assert page.find_all("p", class_="range-text") == []
    current = [
        link.words for link in page.find_one("ul", class_="range-choices").find_all("a", **{"aria-current": "true"})
    ]
    assert current == ["All time"]


def test_a_range_has_the_sums_of_all_time_if_it_contains_all_sessions(world: World, read_file: dict[str, Any]) -> None:
    """The sums are stored as sessions end; a range is computed from the sessions."""
    whole, found = (get_report(world, read_file, query) for query in ("", "?range=30d"))
    for name in ("Views", "Visitors", "Average reading time", "Pages seen", "Countries", "Downloads", "Page turns"):
        assert get_tile(found, name)[:1] == get_tile(whole, name)[:1], name
    for key in ("views", "funnel", "peaks"):
        rows = [page.find_one("figure", id=key).find_one("tbody").words for page in (whole, found)]
        assert rows[0] == rows[1], key
    for key in ("countries", "devices", "browsers", "sources", "viewerModes"):
        rows = [page.find_one("section", **{"aria-labelledby": f"{key}-heading"}).words for page in (whole, found)]
        assert rows[0] == rows[1], key
    leaves = [[leaf.words for leaf in page.find_all("li", class_="leaf")] for page in (whole, found)]
    assert leaves[0] == leaves[1]


def test_sessions_that_were_not_counted_are_those_of_the_range(world: World, read_file: dict[str, Any]) -> None:
    world.clock.advance(seconds=DAY_S)
    silent = FakeReader(world, read_file["shortId"], address="198.51.100.9")
    silent.read_page(7, input=False)
    silent.leave()
    end_all_sessions(world)
    for query, count in (("?range=7d", 1), ("?from=2026-09-21&to=2026-09-22", 0)):
        page = get_report(world, read_file, query)
        assert len(page.find_all("ul", class_="uncounted")) == count
        assert ("Not counted: 1 opened it without touching anything." in page.words) is bool(count)


def test_recipients_are_compared_with_the_range_before(world: World) -> None:
    made = world.pia.upload()
    link = world.pia.post(f"/api/v1/files/{made['uuid']}/variants", json={"label": "Ann Lee"}).get_json()
    read_pages(world, link["shortId"], {1: 10})
    world.clock.advance(seconds=7 * DAY_S)
    for _ in range(3):
        read_pages(world, link["shortId"], {1: 20})
    read_pages(world, made["shortId"], {1: 20})
    section = get_report(world, made, "?range=7d").find_one("section", **{"aria-labelledby": "recipients-heading"})
    rows = [
        [cell.words for cell in row.nodes if cell.tag in ("th", "td")]
        for row in section.find_one("tbody").find_all("tr")
    ]
    assert rows == [["Ann Lee", "3, 2 more", "20s"], ["Share link and invitations", "1, 1 more", "20s"]]


def test_recipients_are_not_compared_with_a_part_of_the_range_before(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = world.pia.upload()
    link = world.pia.post(f"/api/v1/files/{made['uuid']}/variants", json={"label": "Ann Lee"}).get_json()
    read_pages(world, link["shortId"], {1: 10})
    for host in (5, 6):
        read_pages(world, made["shortId"], {1: 10}, host)
    world.clock.advance(seconds=7 * DAY_S)
    read_pages(world, link["shortId"], {1: 20})
    monkeypatch.setattr(report, "MAX_RANGE_SESSIONS", 2)
    section = get_report(world, made, "?range=7d").find_one("section", **{"aria-labelledby": "recipients-heading"})
    assert section.find_one("tbody").words.startswith("Ann Lee120s")  # one session, without a comparison


def test_a_free_owner_gets_the_figures_of_their_plan(world: World) -> None:
    made = world.fay.upload()
    read_pages(world, made["shortId"], {1: 10})
    page = get_report(world, made, "?range=7d", world.fay)
    assert get_tile(page, "Views") == ["1", "in 1 finished session", "1 more"]
    assert page.find_all("figure") == []


def test_a_range_with_very_many_sessions_is_limited(
    world: World, read_file: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "MAX_RANGE_SESSIONS", 2)
    page = get_report(world, read_file, "?range=7d")
    assert page.find_one("p", class_="range-text").words.endswith(
        "1 reader in the newest 2 sessions of this range, which may have more."
    )
    assert get_tile(page, "Views") == ["2", "in 2 finished sessions"]


def test_a_range_is_not_called_limited_because_the_one_before_is(
    world: World, read_file: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "MAX_RANGE_SESSIONS", 2)
    page = get_report(world, read_file, "?from=2026-09-30&to=2026-10-02")
    assert page.find_one("p", class_="range-text").words.endswith("(UTC). 1 reader.")
    assert get_tile(page, "Views") == ["1", "in 1 finished session"]


def test_a_range_takes_the_same_number_of_statements_for_any_number_of_sessions(world: World) -> None:
    made = world.pia.upload()
    http, address = sign_in_browser(world, world.pia), f"/readership/{made['uuid']}?range=30d"
    read_pages(world, made["shortId"], {1: 9})
    few = count_statements(world, http, address)
    for host in range(5):
        link = world.pia.post(f"/api/v1/files/{made['uuid']}/variants", json={"label": f"Ann {host}"}).get_json()
        read_pages(world, link["shortId"], {1: 9, 2: 9}, host)
    assert count_statements(world, http, address) == few


def test_the_sign_in_returns_to_the_range(world: World) -> None:
    made = world.pia.upload()
    path = f"/readership/{made['uuid']}?range=7d"
    answer = world.app.test_client().get(path)
    assert answer.headers["Set-Cookie"].startswith(f"docshare_next={path};")


def test_below_pro_a_range_has_no_sessions(world: World, read_file: dict[str, Any]) -> None:
    accounts.set_tier(world.rt, world.pia.email, Plan.BASIC)
    page = get_report(world, read_file, "?range=7d")
    assert page.find_all("table", class_="sessions") == []
    assert len(page.find_all("figure")) >= 3


@pytest.mark.parametrize(
    ("first", "last", "shown"),
    [
        ("0001-01-01", "0001-01-01", "1 Jan 2000 (UTC)."),
        ("0001-01-01", "0002-12-31", "1 Jan 2000 (UTC)."),
        ("0001-01-01", "9999-12-31", "2 Oct 2025 to 2 Oct 2026 (UTC)."),
        ("9999-12-31", "9999-12-31", "2 Oct 2026 (UTC)."),
        ("2026-10-03", "9999-12-31", "2 Oct 2026 (UTC)."),
        ("1990-01-01", "2000-01-02", "1 Jan 2000 to 2 Jan 2000 (UTC)."),
    ],
)
def test_dates_far_away_are_moved_into_the_time_of_the_server(
    world: World, read_file: dict[str, Any], first: str, last: str, shown: str
) -> None:
    page = get_report(world, read_file, f"?from={first}&to={last}")
    assert page.find_one("p", class_="range-text").words.startswith(shown)


@pytest.mark.parametrize(
    ("source", "name"),
    [("Variant", "Personal link"), ("Embed", "Embedded in a site"), ("QR code", "QR code"), ("Direct link",) * 2],
)
def test_the_report_names_how_readers_opened_it_in_words_of_people(source: str, name: str) -> None:
    report = reports.basic_report() | {"sources": [{"label": source, "count": 3}]}
    page = parse_html(str(render_report(ReportInput(report, reports.MADE_AT))))
    assert page.find_one("section", **{"aria-labelledby": "sources-heading"}).words == f"Sources {name}3 100%"
