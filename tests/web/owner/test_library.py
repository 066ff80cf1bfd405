"""The owner's library: the list, searching, sorting and paging."""

import re
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from docshare.server.services.accounts import sign_in
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.rows import insert_files, update_file_row
from tests.support.owner.browser import count_statements, put_settings, sign_in_browser
from tests.support.owner.forms import find_csrf_token, visible_text
from tests.support.people.anonymous_files import share_anonymously
from tests.support.people.cast import BASE_URL, World

DAY = 86_400_000
NAMED = re.compile(r'<h2><a href="/files/[0-9a-f-]{36}">([^<]*)</a></h2>')


def list_file_names(answer: TestResponse) -> list[str]:
    """Return the names of the files that a page lists, in order."""
    assert answer.status_code == 200
    return [unescape(name) for name in NAMED.findall(answer.text)]


# --- the list --------------------------------------------------------------------------------------------------------


def test_the_newest_file_is_listed_first(world: World, owner_browser: FlaskClient) -> None:
    for name in ("a.pdf", "c.pdf", "b.pdf"):
        world.pia.upload(name=name)
    assert list_file_names(owner_browser.get("/files")) == ["b.pdf", "c.pdf", "a.pdf"]


def test_a_file_is_listed_with_its_figures_and_links(world: World, owner_browser: FlaskClient) -> None:
    made = world.pia.upload(simple_pdf(pages=3), "report.pdf")
    update_file_row(world, made["uuid"], view_count=1234, size=4_500_000)
    world.clock.advance(days=3)
    answer = owner_browser.get("/files")
    assert "3 pages · 4.3 MB · 1,234 views · shared 3 days ago" in visible_text(answer)
    for address in (
        f"{BASE_URL}/{made['shortId']}",
        f"/files/{made['uuid']}",
        f"/readership/{made['uuid']}",
        f"/files/{made['uuid']}/delete",
    ):
        assert f'href="{address}"' in answer.text


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "just now"), (59, "just now"), (60, "1 minute ago"), (3_599, "59 minutes ago"), (3_600, "1 hour ago"),
        (86_400, "1 day ago"), (29 * 86_400, "29 days ago"), (30 * 86_400, "on 21 Sep 2026"),
    ],
)  # fmt: skip
def test_the_age_of_a_file_is_formatted(world: World, seconds: int, words: str) -> None:
    world.clock.now = 1_790_000_000_000  # 21 September 2026
    world.pia.upload()
    world.clock.advance(seconds=seconds)
    assert f"shared {words} " in visible_text(sign_in_browser(world, world.pia).get("/files"))


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (1, "1 B"), (1_023, "1023 B"), (1_024, "1 kB"), (2_047, "2 kB"), (10_107, "9.9 kB"), (10_189, "10 kB"),
        (320_000, "313 kB"), (1_047_000, "1022 kB"), (1_048_575, "1 MB"), (4_404_019, "4.2 MB"), (20_971_519, "20 MB"),
        (2 * 1024**3, "2 GB"),
    ],
)  # fmt: skip
def test_the_size_of_a_file_is_formatted(world: World, owner_browser: FlaskClient, size: int, words: str) -> None:
    update_file_row(world, world.pia.upload()["uuid"], size=size)
    assert f"3 pages · {words} · 0 views" in visible_text(owner_browser.get("/files"))


def test_thumbnail_and_qr_code_are_served(world: World, owner_browser: FlaskClient) -> None:
    """The thumbnail is the first page as the owner sees it, even if the link has a gate and a page range."""
    made = world.pia.upload(simple_pdf(pages=3))
    put_settings(
        world, made, password="correct horse", requireEmail=True, pageRange={"from": 2, "to": 3}, watermark=True
    )
    page = owner_browser.get("/files").text
    picture = re.search(r'<img src="([^"]+)" alt="" loading="lazy"', page)
    assert picture is not None
    assert owner_browser.get(picture[1]).content_type == "image/jpeg"
    assert world.http.get(picture[1]).status_code == 404
    code = re.search(r'href="(/api/files/[^"]+)" download="[0-9A-Za-z]{12}.png"', page)
    assert code is not None
    assert owner_browser.get(code[1]).content_type == "image/png"


def list_states(page: str) -> list[tuple[str, str]]:
    """Return class and words of the state of each link."""
    return re.findall(r'<li class="state ?(\w*)">([^<]*)</li>', page)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"password": "correct horse"}, "Password"),
        ({"requireEmail": True}, "Email required"),
        ({"gateDomains": ["example.com"]}, "Email required"),
        ({"gateFields": [{"key": "mail", "label": "Mail", "type": "email", "required": True}]}, "Email required"),
        ({"allowDownload": False}, "No download"),
        ({"watermark": True}, "Watermark"),
        ({"deleteAt": "2030-01-31T18:00:00Z"}, "Expires 31 Jan 2030"),
        ({"viewLimit": 5}, "0 of 5 views used"),
        ({"pageRange": {"from": 2, "to": 3}}, "Pages 2 to 3"),
    ],
)
def test_each_restriction_of_a_link_is_shown_as_a_flag(
    world: World, owner_browser: FlaskClient, settings: dict[str, Any], words: str
) -> None:
    made = world.pia.upload()
    assert '<li class="flag' not in owner_browser.get("/files").text
    put_settings(world, made, **settings)
    page = owner_browser.get("/files").text
    assert re.findall(r'<li class="flag">([^<]*)</li>', page) == [words]
    assert list_states(page) == [("", "Live")]


@pytest.mark.parametrize(
    ("columns", "words"),
    [({"delete_at": 1_000}, "Expired 1 Jan 1970"), ({"burned_at": 1_000, "view_limit": 3}, "View limit reached")],
)
def test_an_ended_link_is_flagged_and_has_no_thumbnail(
    world: World, owner_browser: FlaskClient, columns: dict[str, int], words: str
) -> None:
    update_file_row(world, world.pia.upload()["uuid"], **columns)
    page = owner_browser.get("/files").text
    assert list_states(page) == [("ended", words)]
    assert "<img" not in page


def test_a_frozen_link_is_flagged(world: World, owner_browser: FlaskClient) -> None:
    update_file_row(world, world.pia.upload()["uuid"], frozen_at=1_000)
    page = owner_browser.get("/files").text
    assert list_states(page) == [("ended", "On hold while the operator reviews it")]
    assert "<img" in page  # the owner can still open it


def test_file_names_are_escaped(world: World, owner_browser: FlaskClient) -> None:
    update_file_row(world, world.pia.upload()["uuid"], original_name='"><script>alert(1)<.pdf')
    for address in ("/files", "/files?q=script"):
        page = owner_browser.get(address)
        assert list_file_names(page) == ['"><script>alert(1)<.pdf']
        assert "<script>alert" not in page.text
    assert "<script>alert" not in owner_browser.get('/files?q="><script>alert(1)</script>').text


def test_files_of_others_are_not_listed(world: World, owner_browser: FlaskClient) -> None:
    world.mal.upload(name="foreign.pdf")
    share_anonymously(world)  # it has no owner
    trashed = world.pia.upload(name="trashed.pdf")
    world.pia.delete(f"/api/v1/files/{trashed['uuid']}")
    world.pia.upload(name="mine.pdf")
    assert list_file_names(owner_browser.get("/files")) == ["mine.pdf"]
    for words in ("foreign", "trashed"):
        searched = owner_browser.get(f"/files?q={words}")
        assert list_file_names(searched) == []
        assert "0 of 1 files match" in visible_text(searched)


def test_an_empty_library_shows_how_to_upload(owner_browser: FlaskClient) -> None:
    answer = owner_browser.get("/files")
    assert "Share your first document" in answer.text
    assert 'type="file"' in answer.text
    assert "Search by name" not in answer.text


def test_a_signed_out_user_must_sign_in_and_returns_to_the_search(world: World) -> None:
    world.pia.upload(name="secret.pdf")
    answer = world.http.get("/files?q=secret")
    assert answer.status_code == 403
    assert "secret.pdf" not in answer.text
    link = sign_in.create_link(world.rt, world.pia.email).removeprefix(BASE_URL)
    entered = world.http.post(link)
    assert entered.headers["Location"] == "/files?q=secret"
    assert list_file_names(world.http.get("/files?q=secret")) == ["secret.pdf"]


def test_the_library_cannot_be_framed_or_cached(owner_browser: FlaskClient) -> None:
    headers = owner_browser.get("/files").headers
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "private, no-store"


# --- searching, sorting, paging --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("ubersicht", ["Übersicht Q3.pdf"]),
        ("ÜBERSICHT", ["Übersicht Q3.pdf"]),
        ("u\u0308bersicht", ["Übersicht Q3.pdf"]),
        ("q3", ["q3 plan.pdf", "Übersicht Q3.pdf"]),
        ("plan q3", ["q3 plan.pdf"]),
        ("for-the-board", ["100%_done.pdf"]),
        ("%", ["100%_done.pdf"]),
        ("_", ["100%_done.pdf"]),
        ("'; --", []),
        ("nothing", []),
        ("  ", ["q3 plan.pdf", "100%_done.pdf", "Übersicht Q3.pdf"]),
    ],
)
def test_a_search_matches_words_anywhere_in_the_name(
    world: World, owner_browser: FlaskClient, words: str, found: list[str]
) -> None:
    for name in ("Übersicht Q3.pdf", "100%_done.pdf", "q3 plan.pdf"):
        made = world.pia.upload(name=name)
        if name.startswith("100"):
            put_settings(world, made, slug="for-the-board")
    answer = owner_browser.get("/files", query_string={"q": words})
    assert list_file_names(answer) == found
    if words.strip():
        assert f"{len(found)} of 3 files match" in visible_text(answer)


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("newest", ["c.pdf", "A.pdf", "b.pdf"]),
        ("oldest", ["b.pdf", "A.pdf", "c.pdf"]),
        ("name", ["A.pdf", "b.pdf", "c.pdf"]),
        ("views", ["A.pdf", "c.pdf", "b.pdf"]),
        ("size", ["b.pdf", "c.pdf", "A.pdf"]),
        ("nonsense", ["c.pdf", "A.pdf", "b.pdf"]),
        ("id; DROP TABLE files", ["c.pdf", "A.pdf", "b.pdf"]),
    ],
)
def test_the_library_is_sorted_as_requested(
    world: World, owner_browser: FlaskClient, order: str, expected: list[str]
) -> None:
    for name, views, size in (("b.pdf", 1, 900), ("A.pdf", 50, 100), ("c.pdf", 2, 500)):
        update_file_row(world, world.pia.upload(name=name)["uuid"], view_count=views, size=size)
    assert list_file_names(owner_browser.get("/files", query_string={"sort": order})) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("state=live", ["later.pdf", "live.pdf"]),
        ("state=ended", ["frozen.pdf", "burned.pdf", "expired.pdf"]),
        ("state=ended&sort=name&q=r", ["burned.pdf", "expired.pdf", "frozen.pdf"]),
        ("state=live&q=frozen", []),
        ("state=nonsense", ["frozen.pdf", "burned.pdf", "expired.pdf", "later.pdf", "live.pdf"]),
    ],
)
def test_the_library_is_filtered_by_the_state_of_links(
    world: World, owner_browser: FlaskClient, query: str, expected: list[str]
) -> None:
    for name, columns in {
        "live.pdf": {},
        "later.pdf": {"delete_at": world.clock.now + 1},
        "expired.pdf": {"delete_at": world.clock.now},
        "burned.pdf": {"burned_at": 1_000},
        "frozen.pdf": {"frozen_at": 1_000},
    }.items():
        made = world.pia.upload(name=name)
        if columns:
            update_file_row(world, made["uuid"], **columns)
    answer = owner_browser.get(f"/files?{query}")
    assert list_file_names(answer) == expected
    if query.startswith("state=ended"):
        assert "3 of 5 files" in visible_text(answer)
        assert '<option value="ended" selected>' in answer.text


def test_the_state_is_kept_on_the_next_page(world: World, owner_browser: FlaskClient) -> None:
    insert_files(world, 51)
    after = re.search(r'href="([^"]+)" rel="next"', owner_browser.get("/files?state=live").text)
    assert after is not None
    assert parse_qs(urlsplit(unescape(after[1])).query) == {"state": ["live"], "page": ["2"]}
    assert len(list_file_names(owner_browser.get(unescape(after[1])))) == 1


def test_two_thousand_files_are_listed_in_pages_of_fifty(world: World, owner_browser: FlaskClient) -> None:
    insert_files(world, 2_000)
    first = owner_browser.get("/files?q=file&sort=oldest")
    assert list_file_names(first) == [f"file {number}.pdf" for number in range(1, 51)]
    assert "Page 1 of 40" in first.text
    assert 'rel="prev"' not in first.text
    after = re.search(r'href="([^"]+)" rel="next"', first.text)
    assert after is not None
    assert parse_qs(urlsplit(unescape(after[1])).query) == {"q": ["file"], "sort": ["oldest"], "page": ["2"]}
    assert list_file_names(owner_browser.get(unescape(after[1])))[0] == "file 51.pdf"
    last = owner_browser.get("/files?sort=oldest&page=40")
    assert list_file_names(last)[-1] == "file 2000.pdf"
    assert 'rel="next"' not in last.text


@pytest.mark.parametrize("number", ["0", "-1", "x", "", "9" * 5000, "1.5", "²", "99"])
def test_an_invalid_page_number_shows_an_existing_page(world: World, owner_browser: FlaskClient, number: str) -> None:
    world.pia.upload(name="only.pdf")
    assert list_file_names(owner_browser.get("/files", query_string={"page": number})) == ["only.pdf"]


@pytest.mark.parametrize("address", ["/files", "/files?q=file", "/files?sort=views"])
def test_the_number_of_statements_does_not_depend_on_the_number_of_files(
    world: World, owner_browser: FlaskClient, address: str
) -> None:
    world.pia.upload(name="file.pdf")
    few = count_statements(world, owner_browser, address)
    insert_files(world, 200)
    assert count_statements(world, owner_browser, address) == few <= 12


# --- plan limits -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "full"), [(0, False), (2, False), (3, True)])
def test_the_free_plan_shows_used_file_slots_and_a_hint_if_full(world: World, count: int, full: bool) -> None:
    for _ in range(count):
        world.fay.upload()
    words = visible_text(sign_in_browser(world, world.fay).get("/files"))
    assert f"{count} of 3 files on the free plan." in words
    assert ("To share another one, delete a file" in words) == full


def test_a_plan_without_a_file_limit_shows_no_count(owner_browser: FlaskClient) -> None:
    assert "plan." not in visible_text(owner_browser.get("/files"))


def test_the_page_contains_the_csrf_token_and_the_largest_pdf_size(world: World) -> None:
    http = sign_in_browser(world, world.fay)
    page = http.get("/files").text
    assert f'data-csrf="{find_csrf_token(page)}"' in page
    assert 'data-most="20971520"' in page
    assert "up to 20 MB" in page
