"""The initial HTML of the share page: its content, and that none of it can be executed."""

import json
import re
from contextlib import ExitStack
from html.parser import HTMLParser

import pytest

from docshare.server.web import scriptless
from tests.contract.settings_table import DEFAULT_LOOKS
from tests.support.documents.pdfs import Sheet, lines_content, sheets_pdf, simple_pdf
from tests.support.engines.rows import update_file_row
from tests.support.people.cast import World

HOSTILE = [
    "</script><script>alert(1)</script>.pdf",
    '"><img src=x onerror=alert(1)>.pdf',
    "{{ 7 * 7 }}.pdf",
    "a&b'c\"d.pdf",
    "\u202egpj.exe.pdf",
]


class PageParser(HTMLParser):
    """Parser that lists the elements of a page with their attributes; ``data`` is the text inside scripts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.data: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        if self.elements and self.elements[-1][0] == "script":
            self.data.append(data)

    def find_all(self, tag: str, cls: str = "") -> list[dict[str, str]]:
        return [attrs for name, attrs in self.elements if name == tag and cls in [*attrs.get("class", "").split(), ""]]


def get_parsed_page(world: World, name: str, query: str = "") -> PageParser:
    answer = world.http.get(f"/{name}{query}")
    assert answer.status_code == 200
    return PageParser(answer.text)


def share_pages(world: World, pages: int) -> str:
    return str(world.pia.upload(simple_pdf(pages=pages))["shortId"])


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_name_is_escaped(world: World, name: str) -> None:
    shared = world.pia.upload(simple_pdf(pages=2))
    update_file_row(world, shared["uuid"], original_name=name)
    page = get_parsed_page(world, shared["shortId"])
    assert page.find_all("h1")[0]["title"] == name
    assert page.find_all("main")[0]["aria-label"] == name
    assert {attrs.get("type") for attrs in page.find_all("script")} == {"module", "application/json"}


@pytest.mark.parametrize("path", ["{link}", "embed/{link}", "{link}?page=2", "nothing", ""])
def test_the_markup_contains_no_inline_code_or_style(world: World, path: str) -> None:
    page = PageParser(world.http.get("/" + path.format(link=share_pages(world, 3))).text)
    assert page.elements
    for tag, attrs in page.elements:
        assert tag != "style"
        assert "style" not in attrs, tag
        assert not [name for name in attrs if name.startswith("on")], tag
        href = attrs.get("href", "").removeprefix("http://127.0.0.1:8787/oembed?")  # absolute, but never loaded
        assert not href.lower().startswith(("javascript:", "http", "//")), tag
        if tag == "script":
            assert attrs["type"] == "application/json" or attrs["src"].startswith("/static/")


def test_the_page_data_for_the_scripts_is_json(world: World) -> None:
    sizes = [(595.0, 842.0), (595.0, 842.0), (842.0, 595.0)]
    content = sheets_pdf([Sheet(lines_content("x", top=100), size) for size in sizes])
    link = world.pia.upload(content)["shortId"]
    facts = json.loads("".join(get_parsed_page(world, link).data))
    assert facts.pop("token")
    assert facts == {
        "base": f"/{link}",
        "version": "1",
        "pages": 3,
        "sizes": [[2, 595, 842], [1, 842, 595]],
        "tiles": {"side": 1024, "large": 2048, "levels": [100, 200, 400, 800, 1200], "longest": 4_000},
        "start": 1,
        "beaconUrl": f"/{link}/beacon",
        "viewerMode": "standard",
        "viewerSettings": DEFAULT_LOOKS,
        "feedback": {
            "notes": False,
            "publicNotes": False,
            "marks": False,
            "annotations": False,
            "receipt": False,
            "owner": False,
        },
        "hotspots": [],
    }


def test_the_html_of_a_short_document_contains_the_proportions_of_every_page(world: World) -> None:
    page = get_parsed_page(world, share_pages(world, 200))
    assert [int(attrs["data-page"]) for attrs in page.find_all("article", "page")] == list(range(1, 201))
    assert {attrs["viewbox"] for attrs in page.find_all("svg", "page-shape")} == {"0 0 612.0 792.0"}


def test_the_html_of_a_long_document_contains_only_the_first_pages(world: World) -> None:
    page = get_parsed_page(world, share_pages(world, 201))
    assert [int(attrs["data-page"]) for attrs in page.find_all("article", "page")] == list(range(1, 11))


def test_the_first_image_is_in_the_html(world: World) -> None:
    link = share_pages(world, 3)
    first, *others = get_parsed_page(world, link).find_all("img")
    assert first["src"] == f"/{link}/pages/1-1600.jpg?v=1"
    assert first["srcset"] == f"/{link}/pages/1-800.jpg?v=1 800w, /{link}/pages/1-1600.jpg?v=1 1600w"
    assert first["fetchpriority"] == "high"
    assert [attrs["loading"] for attrs in others] == ["lazy", "lazy"]


@pytest.mark.parametrize(
    ("asked", "start", "first", "previous", "following"),
    [
        ("", 1, 1, None, "?page=11"),
        ("?page=1", 1, 1, None, "?page=11"),
        ("?page=14", 14, 11, "?page=1", "?page=21"),
        ("?page=25", 25, 21, "?page=11", None),
        ("?page=999", 25, 21, "?page=11", None),
        ("?page=0", 1, 1, None, "?page=11"),
        ("?page=-3", 1, 1, None, "?page=11"),
        ("?page=x", 1, 1, None, "?page=11"),
        ("?page=99999999999999999999", 1, 1, None, "?page=11"),
    ],
)
def test_without_scripts_the_document_is_paginated_by_ten(
    world: World, asked: str, start: int, first: int, previous: str | None, following: str | None
) -> None:
    page = get_parsed_page(world, share_pages(world, 25), asked)
    chunk = [int(attrs["data-page"]) for attrs in page.find_all("article", "in-chunk")]
    assert chunk == list(range(first, min(first + 10, 26)))
    links = {attrs["rel"]: attrs["href"] for attrs in page.find_all("a") if attrs.get("rel") in ("prev", "next")}
    assert (links.get("prev"), links.get("next")) == (previous, following)
    assert json.loads("".join(page.data))["start"] == start


@pytest.mark.usefixtures("patient_readers")
def test_the_html_contains_page_text_only_if_a_page_is_requested(world: World) -> None:
    link = world.pia.upload(simple_pdf(pages=2, texts=["One <b>bold</b> word", "Two"]))["shortId"]
    without, with_words = world.http.get(f"/{link}").text, world.http.get(f"/{link}?page=1").text
    assert "bold" not in without
    assert re.findall(r"<summary>(.*?)</summary>", with_words) == ["Page 1 as text", "Page 2 as text"]
    assert "One &lt;b&gt;bold&lt;/b&gt; word" in with_words


def test_the_html_omits_the_text_while_too_many_requests_read_texts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of one address take their turns, so that reading long texts does not slow down everybody else."""
    monkeypatch.setattr(scriptless, "_SLOT_WAIT_S", 0.0)
    link = world.pia.upload(simple_pdf(pages=2, texts=["One word", "Two"]))["shortId"]
    with ExitStack() as held:
        for _ in range(2):
            assert held.enter_context(world.rt.text_slots.hold("127.0.0.1", 0))
        page = world.http.get(f"/{link}?page=1")
        assert (page.status_code, "One word" in page.text, f"/{link}/pages/1-800.jpg" in page.text) == (
            200,
            False,
            True,
        )
        other = world.http.get(f"/{link}?page=1", environ_overrides={"REMOTE_ADDR": "203.0.113.9"})
        assert "One word" in other.text
    assert "One word" in world.http.get(f"/{link}?page=1").text


def test_the_html_omits_the_text_of_pages_that_are_not_read_in_time(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scriptless, "_BUDGET_S", -1.0)
    link = world.pia.upload(simple_pdf(pages=2, texts=["One word", "Two"]))["shortId"]
    page = world.http.get(f"/{link}?page=1")
    assert (page.status_code, "One word" in page.text, f"/{link}/pages/1-800.jpg" in page.text) == (200, False, True)


def test_the_embed_page_links_to_the_share_page(world: World) -> None:
    link = share_pages(world, 1)
    elsewhere = PageParser(world.http.get(f"/embed/{link}").text).find_all("a", "tool")
    assert [(attrs["href"], attrs["rel"]) for attrs in elsewhere] == [(f"/{link}", "noopener")]
    assert get_parsed_page(world, link).find_all("a", "tool") == []


def test_preview_metadata_contains_only_the_name_and_page_count(world: World) -> None:
    link = world.pia.upload(simple_pdf(pages=1), "Offer.pdf")["shortId"]
    metadata = {
        attrs["property"]: attrs["content"]
        for attrs in get_parsed_page(world, link).find_all("meta")
        if "property" in attrs
    }
    assert metadata == {
        "og:type": "website",
        "og:site_name": "docshare",
        "og:title": "Offer.pdf",
        "og:description": "A shared document, 1 page",
    }
