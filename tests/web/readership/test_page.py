"""The report page, which exists only for the signed-in owner."""

import json
from typing import Any

import pytest
from flask.testing import FlaskClient

from docshare.contract.plans import Plan
from docshare.server.services.accounts import accounts
from docshare.server.services.readership import viewing
from tests.support.browsers.markup import HtmlElement, parse_html
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.database import dump_database
from tests.support.owner.browser import put_settings, sign_in_browser
from tests.support.people.cast import Person, World
from tests.support.people.feedback_client import ALL_FEEDBACK_SETTINGS, FeedbackClient
from tests.support.people.reader import FakeReader


def get_report_page(http: FlaskClient, name: str) -> HtmlElement:
    answer = http.get(f"/readership/{name}")
    assert answer.status_code == 200, answer.text
    return parse_html(answer.text)


def get_tile_value(page: HtmlElement, name: str) -> str:
    return next(
        node.find_all("dd")[0].words
        for node in page.find_all("div", class_="tile")
        if node.find_one("dt").words == name
    )


def read_document(world: World, name: str, seconds: dict[int, int], **more: Any) -> None:
    """Read each page for the given number of seconds, then end the session."""
    reader = FakeReader(world, name, **more)
    reader.send_next_beacon(input=True)
    for page, time in seconds.items():
        reader.read_page(time, page=page)
    reader.leave()
    world.clock.advance(minutes=6)
    viewing.end_due_sessions(world.rt)


@pytest.mark.parametrize("key", ["uuid", "shortId"])
def test_the_owner_opens_the_report_by_uuid_or_short_id(world: World, key: str) -> None:
    made = world.pia.upload(name="Ann & Bob <3.pdf")
    page = get_report_page(sign_in_browser(world, world.pia), made[key])
    assert page.find_one("h1").words == "Ann & Bob <3.pdf"
    assert page.find_one("title").words == "Ann & Bob <3.pdf · Readership"
    assert page.find_one("img", class_="code").attrs["src"] == f"/api/files/{made['shortId']}/qr-code"


def test_the_page_shows_the_reading_of_readers(world: World) -> None:
    made = world.pia.upload()
    read_document(world, made["shortId"], {1: 12, 2: 8}, address="203.0.113.7")
    read_document(world, made["shortId"], {1: 20}, address="198.51.100.9")
    page = get_report_page(sign_in_browser(world, world.pia), made["uuid"])
    assert [get_tile_value(page, name) for name in ("Views", "Visitors", "Average reading time")] == ["2", "2", "20s"]
    assert get_tile_value(page, "Pages seen") == "50%"
    assert [leaf.find_one("b").words for leaf in page.find_all("li", class_="leaf")] == ["16s", "8s", "0s"]
    first = page.find_all("li", class_="leaf")[0].find_one("img").attrs
    assert first["src"] == f"/{made['shortId']}/pages/1-240.jpg?v=1"
    assert (first["width"], first["height"]) == ("612", "792")
    assert len(page.find_all("table", class_="sessions")[0].find_one("tbody").find_all("tr")) == 2


def test_the_page_shows_the_feedback_of_readers(world: World) -> None:
    made = world.pia.upload()
    put_settings(world, made, **ALL_FEEDBACK_SETTINGS)
    ann = FeedbackClient(world, made["shortId"])
    ann.leave_note("Where is <b>page 4</b>?", page=2)
    ann.mark_page(1, "pick")
    ann.annotate(3, "Move this")
    assert ann.send("POST", "receipt", {"name": "Ann Lee"}).status_code == 201
    page = get_report_page(sign_in_browser(world, world.pia), made["uuid"])
    assert page.find_one("p", class_="note-body").words == "Where is <b>page 4</b>?"
    assert [node.find_one("h4").words for node in page.find_all("li", class_="proof")] == ["Page 1", "Page 3"]
    assert page.find_one("section", **{"aria-labelledby": "receipts-heading"}).find_all("b")[0].words == "Ann Lee"


def test_the_thumbnails_of_a_gated_document_with_a_page_range_load_for_the_owner(world: World) -> None:
    made = world.pia.upload(simple_pdf(pages=5))
    read_document(world, made["shortId"], {1: 12})
    put_settings(world, made, password="secret", pageRange={"from": 2, "to": 3})
    http = sign_in_browser(world, world.pia)
    page = get_report_page(http, made["uuid"])
    sources = [node.find_one("img").attrs["src"] for node in page.find_all("li", class_="leaf")]
    assert sources == [f"/{made['shortId']}/pages/{number}-240.jpg?v=1" for number in (1, 2, 3)]
    assert [http.get(source).mimetype for source in sources] == ["image/jpeg"] * 3
    assert page.find_one("p", class_="notice").words.startswith("Readers see pages 2 to 3 only")


def test_the_report_of_an_expired_document_has_no_thumbnails(world: World) -> None:
    made = world.pia.upload()
    read_document(world, made["shortId"], {1: 12})
    put_settings(world, made, deleteAt="2026-01-01T00:00:00Z")
    page = get_report_page(sign_in_browser(world, world.pia), made["uuid"])
    assert get_tile_value(page, "Views") == "1"
    assert page.find_all("img") == []
    assert len(page.find_all("figure", id="times")) == 1


@pytest.mark.parametrize(
    ("who", "charts", "sessions"), [("fay", False, False), ("bea", True, False), ("pia", True, True)]
)
def test_the_plan_determines_the_sections(world: World, who: str, charts: bool, sessions: bool) -> None:
    person: Person = getattr(world, who)
    made = person.upload()
    read_document(world, made["shortId"], {1: 12})
    page = get_report_page(sign_in_browser(world, person), made["uuid"])
    assert (bool(page.find_all("figure")), bool(page.find_all("table", class_="sessions"))) == (charts, sessions)
    assert bool(page.find_all("li", class_="leaf")) == charts


def test_a_downgrade_hides_sections_immediately(world: World) -> None:
    made = world.pia.upload()
    read_document(world, made["shortId"], {1: 12})
    http = sign_in_browser(world, world.pia)
    assert get_report_page(http, made["uuid"]).find_all("table", class_="sessions")
    accounts.set_tier(world.rt, world.pia.email, Plan.FREE)
    assert get_report_page(http, made["uuid"]).find_all("table") == []


def list_session_addresses(page: HtmlElement) -> list[str]:
    return [link.attrs["href"] for link in page.find_all("a") if "/sessions/" in link.attrs.get("href", "")]


def test_a_session_opens_with_its_time_page_by_page(world: World) -> None:
    made = world.pia.upload(simple_pdf(pages=3))
    read_document(world, made["shortId"], {1: 12, 3: 8})
    http = sign_in_browser(world, world.pia)
    (address,) = list_session_addresses(get_report_page(http, made["shortId"]))
    page = parse_html(http.get(address).text)
    rows = page.find_one("table", class_="session-pages").find_one("tbody").find_all("tr")
    assert [[cell.words for cell in row.find_all() if cell.tag in ("th", "td")] for row in rows] == [
        ["1", "12s", "1", "0"],
        ["3", "8s", "1", "0"],
    ]
    assert [title.words for title in page.find_one("svg", class_="strip").find_all("title")][1:] == [
        "Page 1: 12s",
        "Page 3: 8s",
    ]
    assert page.find_one("p", class_="notice").words == "Counted as a reader: a pointer, key, touch, or wheel event."
    facts = page.find_one("dl", class_="session-facts")
    known = dict(zip(*([node.words for node in facts.find_all(tag)] for tag in ("dt", "dd")), strict=True))
    assert (known["Reading time"], known["Pages seen"], known["Opened through"]) == ("20s", "2 of 3", "Direct link")
    trail = page.find_one("nav", class_="trail")
    file, report = f"/files/{made['uuid']}", f"/readership/{made['uuid']}"
    assert [link.attrs["href"] for link in trail.find_all("a")] == ["/files", file, report]


def test_a_reader_without_a_name_is_headed_by_the_recipient_of_the_link(world: World) -> None:
    made = world.pia.upload()
    link = world.pia.post(f"/api/v1/files/{made['uuid']}/variants", json={"label": "Chi Wen"}).get_json()
    read_document(world, link["shortId"], {1: 12})
    http = sign_in_browser(world, world.pia)
    report = get_report_page(http, made["uuid"])
    table = report.find_one("table", class_="sessions")
    assert table.find_one("span", class_="who").words == "Chi Wen"
    assert [tag.words for tag in table.find_all("span", class_="tag")] == ["personal link"]
    (address,) = list_session_addresses(report)
    assert parse_html(http.get(address).text).find_one("h1").words == "Chi Wen"


def test_sessions_that_were_not_counted_are_listed_with_the_reason(world: World) -> None:
    """They are listed even if nobody else opened the document: the owner wonders why the report is empty."""
    made = world.pia.upload()
    silent = FakeReader(world, made["shortId"], address="198.51.100.9")
    silent.read_page(7, input=False)
    silent.leave()
    world.clock.advance(minutes=6)
    viewing.end_due_sessions(world.rt)
    http = sign_in_browser(world, world.pia)
    page = get_report_page(http, made["uuid"])
    section = page.find_one("section", **{"aria-labelledby": "uncounted-heading"})
    assert "opened, but not touched" in section.words
    assert "visible for 5 seconds or more, without input" in section.words
    (address,) = list_session_addresses(section)
    notice = parse_html(http.get(address).text).find_one("p", class_="notice").words
    assert notice == "Not counted (opened, but not touched): visible for 5 seconds or more, without input."


def test_a_session_is_visible_only_to_the_owner_on_pro(world: World) -> None:
    made = world.pia.upload()
    read_document(world, made["shortId"], {1: 12})
    http = sign_in_browser(world, world.pia)
    (address,) = list_session_addresses(get_report_page(http, made["uuid"]))
    unknown = get_comparable(sign_in_browser(world, world.mal), "/aB3dE5fG7hJ9")
    assert get_comparable(sign_in_browser(world, world.mal), address) == unknown
    assert http.get(f"/readership/{made['uuid']}/sessions/unknown").status_code == 404
    assert world.http.get(address).status_code == 403
    accounts.set_tier(world.rt, world.pia.email, Plan.BASIC)
    assert list_session_addresses(get_report_page(http, made["uuid"])) == []
    refused = http.get(address)
    assert (refused.status_code, "Page by page" in refused.text) == (403, False)


def get_comparable(http: FlaskClient, path: str) -> tuple[int, str, dict[str, str]]:
    answer = http.get(path)
    # The cookie contains only the requested address.
    headers = {key: value for key, value in answer.headers.items() if key not in ("X-Request-Id", "Set-Cookie")}
    return answer.status_code, answer.text, headers


def test_for_other_accounts_the_page_responds_like_an_unknown_link(world: World) -> None:
    made = world.pia.upload()
    trashed = world.mal.upload()
    assert world.mal.delete(f"/api/v1/files/{trashed['uuid']}").status_code == 200
    http = sign_in_browser(world, world.mal)
    unknown = get_comparable(http, "/aB3dE5fG7hJ9")
    assert unknown[0] == 404
    for name in (made["uuid"], made["shortId"], trashed["uuid"], "aB3dE5fG7hJ9", "x", "..", "a" * 300):
        assert get_comparable(http, f"/readership/{name}") == unknown


def test_a_signed_out_user_learns_nothing_about_the_file(world: World) -> None:
    made = world.pia.upload(name="secret.pdf")
    known = get_comparable(world.http, f"/readership/{made['uuid']}")
    assert known[0] == 403
    assert "docshare admin login-link" in known[1]
    assert "secret" not in known[1]
    for name in ("aB3dE5fG7hJ9", "x", made["shortId"]):
        assert get_comparable(world.http, f"/readership/{name}") == known


def test_an_expired_session_cannot_open_the_report(world: World) -> None:
    made = world.pia.upload()
    http = sign_in_browser(world, world.pia)
    world.clock.advance(days=31)
    assert http.get(f"/readership/{made['uuid']}").status_code == 403


def test_the_page_is_not_cached_framed_or_indexed(world: World) -> None:
    made = world.pia.upload()
    headers = sign_in_browser(world, world.pia).get(f"/readership/{made['uuid']}").headers
    assert headers["Cache-Control"] == "private, no-store"
    assert headers["X-Robots-Tag"] == "noindex, nofollow"
    assert headers["Referrer-Policy"] == "no-referrer"
    policy = headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy


def test_opening_the_report_changes_nothing(world: World) -> None:
    made = world.pia.upload()
    http = sign_in_browser(world, world.pia)
    before = dump_database(world)
    get_report_page(http, made["uuid"])
    http.get(f"/readership/{made['uuid']}/now")
    assert dump_database(world) == before


def test_only_the_owner_can_get_the_number_of_active_readers(world: World) -> None:
    made = world.pia.upload()
    http = sign_in_browser(world, world.pia)
    reader = FakeReader(world, made["shortId"])
    reader.read_page(2)
    address = f"/readership/{made['uuid']}/now"
    assert http.get(address).get_json() == {"activeReaders": 1}
    world.clock.advance(minutes=2)
    assert http.get(address).get_json() == {"activeReaders": 0}
    for other in (world.http, sign_in_browser(world, world.mal)):
        assert other.get(address).status_code == 404


def test_below_pro_the_number_of_active_readers_is_omitted(world: World) -> None:
    made = world.bea.upload()
    answer = sign_in_browser(world, world.bea).get(f"/readership/{made['uuid']}/now")
    assert json.loads(answer.text) == {}
