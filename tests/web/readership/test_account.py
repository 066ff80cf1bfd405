"""The readership of all files of an account."""

from typing import Any

import pytest

from tests.support.browsers.markup import HtmlElement, parse_html
from tests.support.owner.browser import count_statements, sign_in_browser
from tests.support.people.cast import Person, World
from tests.web.readership.test_ranges import DAY_S, get_report, get_tile, read_pages


@pytest.fixture
def two_files(world: World) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two files of Pia: the first read once in the week before; then twice briefly, and the second once for longer."""
    first, second = world.pia.upload(name="first.pdf"), world.pia.upload(name="second.pdf")
    read_pages(world, first["shortId"], {1: 10}, host=4)
    world.clock.advance(seconds=8 * DAY_S)
    for host in (5, 6):
        read_pages(world, first["shortId"], {1: 10}, host)
    link = world.pia.post(f"/api/v1/files/{second['uuid']}/variants", json={"label": "Ann Lee"}).get_json()
    read_pages(world, link["shortId"], {1: 30, 2: 30}, host=7)
    return first, second


def get_account_report(world: World, query: str = "", who: Person | None = None) -> HtmlElement:
    answer = sign_in_browser(world, who or world.pia).get(f"/readership{query}")
    assert answer.status_code == 200, answer.text
    return parse_html(answer.text)


def list_file_rows(page: HtmlElement) -> list[list[str]]:
    rows = page.find_one("table", class_="account-files").find_one("tbody").find_all("tr")
    return [[cell.words for cell in row.nodes if cell.tag in ("th", "td")] for row in rows]


def test_the_last_seven_days_of_all_files_are_compared_with_the_seven_before(
    world: World, two_files: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    first, _ = two_files
    page = get_account_report(world)
    assert [link.words for link in page.find_all("a", **{"aria-current": "true"})] == ["7 days", "Most views"]
    assert get_tile(page, "Views") == ["3", "finished sessions", "2 more"]
    assert get_tile(page, "Visitors") == ["3", "counted for each file", "2 more"]
    assert get_tile(page, "Average reading time") == ["26s", "1m 20s in total", "16s longer"]
    assert get_tile(page, "Files read") == ["2", "1 more"]
    assert list_file_rows(page) == [
        ["first.pdf", "2, 1 more", "20s", "10s"],
        ["second.pdf", "1, 1 more", "1m 00s", "1m 00s"],
    ]
    files = page.find_one("table", class_="account-files").find_all("a")
    assert files[0].attrs["href"] == f"/readership/{first['uuid']}?range=7d"
    days = page.find_one("figure", id="views").find_one("tbody").find_all("tr")
    assert [row.find_one("td").words for row in days] == ["3", "0", "0", "0", "0", "0", "0"]


def test_the_average_of_a_file_is_that_of_its_own_report(world: World) -> None:
    made = world.pia.upload()
    for host, seconds in ((5, 10), (6, 9.999)):
        read_pages(world, made["shortId"], {1: seconds}, host)
    own = get_tile(get_report(world, made, "?range=7d"), "Average reading time")[0]
    page = get_account_report(world)
    assert (own, list_file_rows(page)[0][-1], get_tile(page, "Average reading time")[0]) == ("10s", "10s", "10s")


def test_the_files_can_be_ordered_by_time(world: World, two_files: tuple[dict[str, Any], dict[str, Any]]) -> None:
    page = get_account_report(world, "?range=30d&sort=time")
    assert [row[0] for row in list_file_rows(page)] == ["second.pdf", "first.pdf"]
    assert get_tile(page, "Views")[0] == "4"


def test_the_latest_sessions_name_reader_and_file(
    world: World, two_files: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    _, second = two_files
    table = get_account_report(world).find_one("table", class_="sessions")
    newest = table.find_one("tbody").find_all("tr")[0]
    assert newest.find_one("th").find_one("a").words == "Ann Lee"
    link = newest.find_one("td", class_="session-file").find_one("a")
    assert (link.words, link.attrs["href"]) == ("second.pdf", f"/readership/{second['uuid']}")
    address = newest.find_one("th").find_one("a").attrs["href"]
    assert sign_in_browser(world, world.pia).get(address).status_code == 200


def test_another_account_and_files_in_the_trash_are_not_part_of_it(
    world: World, two_files: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    assert world.pia.delete(f"/api/v1/files/{two_files[0]['uuid']}").status_code in (200, 204)
    assert [row[0] for row in list_file_rows(get_account_report(world))] == ["second.pdf"]
    assert "No session of these days has finished." in get_account_report(world, who=world.bea).words


@pytest.mark.parametrize(("who", "charts", "sessions"), [("fay", 0, 0), ("bea", 1, 0), ("pia", 1, 1)])
def test_the_plan_determines_the_sections_of_all_files(world: World, who: str, charts: int, sessions: int) -> None:
    person: Person = getattr(world, who)
    read_pages(world, person.upload()["shortId"], {1: 10})
    page = get_account_report(world, who=person)
    assert (len(page.find_all("figure")), len(page.find_all("table", class_="sessions"))) == (charts, sessions)
    assert get_tile(page, "Views")[0] == "1"


def test_without_a_sign_in_the_page_asks_for_one_and_returns(world: World) -> None:
    answer = world.app.test_client().get("/readership?range=30d")
    assert answer.status_code == 403
    assert answer.headers["Set-Cookie"].startswith("docshare_next=/readership?range=30d;")


def test_the_page_takes_the_same_number_of_statements_for_any_number_of_files(world: World) -> None:
    http = sign_in_browser(world, world.pia)
    read_pages(world, world.pia.upload()["shortId"], {1: 9})
    few = count_statements(world, http, "/readership")
    for host in range(3):
        read_pages(world, world.pia.upload()["shortId"], {1: 9, 2: 9}, host)
    assert count_statements(world, http, "/readership") == few


def test_the_library_links_to_the_page(world: World) -> None:
    world.pia.upload()
    page = parse_html(sign_in_browser(world, world.pia).get("/files").text)
    assert [link.words for link in page.find_all("a", href="/readership")] == ["Readership of all files"]
