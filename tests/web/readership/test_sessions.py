"""The rows of sessions on the report page: who read, and a strip of the pages by time."""

import re
from typing import Any

from tests.support.browsers.markup import HtmlElement, parse_html
from tests.support.documents.pdfs import simple_pdf
from tests.support.owner.browser import count_statements, put_settings, sign_in_browser
from tests.support.people.cast import World
from tests.support.people.feedback_client import ALL_FEEDBACK_SETTINGS, FeedbackClient
from tests.support.people.reader import FakeReader, end_all_sessions


def read_pages(world: World, name: str, seconds: dict[int, int], host: int = 4) -> None:
    """Read each page for the given number of seconds, and leave."""
    reader = FakeReader(world, name, address=f"198.51.100.{host}")
    for page, time in seconds.items():
        reader.read_page(time, page=page)
    reader.leave()
    end_all_sessions(world)


def list_session_rows(world: World, made: dict[str, Any]) -> list[HtmlElement]:
    """Return the rows of sessions on the report page of a file of Pia, newest first."""
    answer = sign_in_browser(world, world.pia).get(f"/readership/{made['uuid']}")
    return parse_html(answer.text).find_one("table", class_="sessions").find_one("tbody").find_all("tr")


def get_reader_name(row: HtmlElement) -> str:
    return row.find_one("span", class_="who").words


def test_an_unknown_reader_has_the_same_name_in_all_sessions_of_a_file(world: World) -> None:
    made, other = world.pia.upload(), world.pia.upload()
    for host in (4, 5, 4):
        read_pages(world, made["shortId"], {1: 9}, host)
    read_pages(world, other["shortId"], {1: 9}, 4)
    third, second, first = map(get_reader_name, list_session_rows(world, made))
    assert re.fullmatch("Reader [0-9A-F]{6}", first)
    assert third == first != second
    assert get_reader_name(list_session_rows(world, other)[0]) not in (first, second)


def test_a_reader_who_left_feedback_has_the_name_that_stands_beside_it(world: World) -> None:
    made = world.pia.upload()
    put_settings(world, made, **ALL_FEEDBACK_SETTINGS)
    ann = FeedbackClient(world, made["shortId"])
    ann.mark_page(1, "pick")
    (marked,) = world.pia.get(f"/api/v1/files/{made['uuid']}/page-marks").get_json()["viewers"]
    reader = FakeReader(world, made["shortId"], http=ann.http)
    reader.read_page(9)
    reader.leave()
    end_all_sessions(world)
    assert get_reader_name(list_session_rows(world, made)[0]) == marked["identity"]


def test_the_recipient_of_a_link_heads_the_row_beside_the_name_of_the_reader(world: World) -> None:
    """The name shows whether two people used the link."""
    made = world.pia.upload()
    link = world.pia.post(f"/api/v1/files/{made['uuid']}/variants", json={"label": "Ann Lee"}).get_json()
    for host in (4, 5):
        read_pages(world, link["shortId"], {1: 9}, host)
    rows = list_session_rows(world, made)
    assert list(map(get_reader_name, rows)) == ["Ann Lee", "Ann Lee"]
    aliases = [re.findall("Reader [0-9A-F]{6}", row.words) for row in rows]
    assert len({alias for (alias,) in aliases}) == 2


def test_the_strip_has_a_column_for_each_page_by_its_time(world: World) -> None:
    made = world.pia.upload(simple_pdf(pages=6))
    read_pages(world, made["shortId"], {1: 10, 2: 5, 3: 20, 6: 8})
    (row,) = list_session_rows(world, made)
    strip = row.find_one("svg", class_="page-strip")
    assert strip.attrs["aria-label"] == "Page 3 20s, page 1 10s, page 6 8s and 1 more page"
    assert strip.attrs["viewbox"] == "0 0 60 100"
    drawn = strip.find_one("path").attrs["d"]
    assert re.findall(r"M(\d+) 100v-(\d+)h8", drawn) == [("1", "50"), ("11", "25"), ("21", "100"), ("51", "40")]
    assert row.find_one("td", class_="seen").words.endswith("4 of 6, longest on page 3")


def test_a_column_of_a_long_document_stands_for_several_pages(world: World) -> None:
    made = world.pia.upload(simple_pdf(pages=150))
    read_pages(world, made["shortId"], {1: 5, 3: 5, 150: 10})
    (row,) = list_session_rows(world, made)
    strip = row.find_one("svg", class_="page-strip")
    assert strip.attrs["viewbox"] == "0 0 500 100"
    assert re.findall(r"M(\d+) 100v-(\d+)h8", strip.find_one("path").attrs["d"]) == [("1", "100"), ("491", "100")]


def test_a_session_names_device_country_and_link(world: World) -> None:
    made = world.pia.upload()
    link = world.pia.post(f"/api/v1/files/{made['uuid']}/variants", json={"label": "Ann Lee"}).get_json()
    reader = FakeReader(
        world, link["shortId"], address="203.0.113.7", page_headers={"Referer": "https://news.example/"}
    )
    reader.read_page(9)
    reader.leave()
    end_all_sessions(world)
    (row,) = list_session_rows(world, made)
    page = parse_html(sign_in_browser(world, world.pia).get(row.find_one("a").attrs["href"]).text)
    facts = page.find_one("dl", class_="session-facts")
    known = dict(zip(*([node.words for node in facts.find_all(tag)] for tag in ("dt", "dd")), strict=True))
    assert (known["Device"], known["Country"], known["Link"], known["Came from"]) == (
        "Desktop, Chrome", "Germany", "Personal link of Ann Lee", "news.example",
    )  # fmt: skip


def test_the_page_takes_the_same_number_of_statements_for_any_number_of_sessions(world: World) -> None:
    made = world.pia.upload()
    http, address = sign_in_browser(world, world.pia), f"/readership/{made['uuid']}"
    read_pages(world, made["shortId"], {1: 9, 2: 9})
    few = count_statements(world, http, address)
    for host in range(5):
        read_pages(world, made["shortId"], {1: 9, 2: 9, 3: 9}, host)
    assert count_statements(world, http, address) == few
