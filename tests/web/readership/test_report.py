"""The rendered readership report, from report data written by hand."""

import json
import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from docshare.report import ReportInput, list_thumbnail_pages
from docshare.report import render_report as draw
from docshare.report.standalone import render_standalone
from tests.support.browsers.markup import HtmlElement, parse_html
from tests.support.outside.payloads import XSS
from tests.support.people import reports
from tests.support.people.reports import full_material


def render_report(material: ReportInput) -> HtmlElement:
    return parse_html(str(draw(material)))


def list_headings(page: HtmlElement) -> list[str]:
    return [node.words for node in page.nodes if node.tag in ("h2", "h3")]


def get_tiles_by_name(page: HtmlElement) -> dict[str, list[str]]:
    """Return figure and note of each tile by name."""
    return {
        tile.find_one("dt").words: [dd.words for dd in tile.find_all("dd")]
        for tile in page.find_all("div", class_="tile")
    }


def list_table_rows(node: HtmlElement) -> list[list[str]]:
    """Return the cell texts of the rows of a table body."""
    body = node.find_all("tbody")[0]
    return [[cell.words for cell in row.nodes if cell.tag in ("th", "td")] for row in body.find_all("tr")]


def test_the_free_report_shows_basic_figures_and_what_higher_plans_add() -> None:
    page = render_report(ReportInput(reports.free_report(), reports.MADE_AT))
    assert page.find_one("h1").words == "Series A deck – autumn 2026.pdf"
    assert list_headings(page) == ["Overview", "More with a higher plan"]
    assert get_tiles_by_name(page) == {
        "Views": ["142", "in 118 finished sessions"],
        "Visitors": ["87"],
        "Average reading time": ["2m 34s"],
        "Countries": ["9"],
        "Downloads": ["23"],
    }
    assert [node.words for node in page.find_all("dt")][-2:] == ["Basic", "Pro"]


def test_the_basic_report_shows_charts_and_breakdowns() -> None:
    page = render_report(ReportInput(reports.basic_report(), reports.MADE_AT, pages=reports.pages_report()))
    assert list_headings(page) == [
        "Overview", "The last 30 days", "How far they read", "When they read", "Countries", "Sources", "Devices",
        "Browsers", "Referrers", "Viewer modes", "Time per page", "Average time on each page",
        "More with a higher plan",
    ]  # fmt: skip
    shown = get_tiles_by_name(page)
    assert shown["Average reading time"] == ["2m 34s", "median 1m 36s"]
    assert shown["Pages seen"] == ["62.5%", "of the pages they were shown, on average"]
    assert shown["Page turns"] == ["1,204", "14.2% went back"]
    assert page.find_all("dt")[-1].words == "Pro"
    assert page.find_all(id="now") == []


def test_the_pro_report_shows_everything_and_no_upgrade_hint() -> None:
    page = render_report(full_material())
    found = list_headings(page)
    for title in ("Latest sessions", "Contacts", "Links per recipient", "Taps", "Notes", "Receipts"):
        assert title in found
    assert found[-1] == "Marks and annotations"
    assert "higher plan" not in page.words
    assert page.find_one(id="now-words").words == "2 reading now"
    assert get_tiles_by_name(page)["Visitors"] == ["87", "87 new, 31 returning sessions"]
    assert get_tiles_by_name(page)["Invited, not opened"] == ["3"]


def test_every_chart_has_a_text_summary_and_a_table() -> None:
    page = render_report(full_material())
    for key, insight, lines in (
        ("views", "142 views in this time; the most on Sunday, 20 September 2026: 17.", 30),
        ("funnel", "44.1% of the sessions reached page 12, the last one. The largest drop is after page 5, where "
         "21.2% stop.", 12),
        ("peaks", "The busiest hour is Tuesday, 14:00 to 15:00 UTC: 27 views.", 77),
    ):  # fmt: skip
        figure = page.find_one("figure", id=key)
        assert figure.find_one("figcaption").find_one("p").words == insight
        drawing = figure.find_one("svg", class_="plot")
        named = [figure.find_one(id=found).words for found in drawing.attrs["aria-labelledby"].split()]
        assert named[1] == insight
        assert drawing.attrs["role"] == "img"
        assert len(list_table_rows(figure)) == lines


def list_insights(page: HtmlElement) -> list[str]:
    return [
        page.find_one("figure", id=key).find_one("figcaption").find_one("p").words
        for key in ("views", "funnel", "peaks")
    ]


def test_empty_charts_show_a_message_while_the_first_reader_reads() -> None:
    """The first view is counted before its session ends."""
    days = [{"day": "2026-09-21", "count": 0}]
    empty = {"viewsOverTime": days, "funnel": [{"page": 1, "reached": 0, "pct": 0.0}], "peakTimes": []}
    found = reports.basic_report(**empty)
    found["summary"] |= {"totalViews": 1, "totalSessions": 0}
    page = render_report(ReportInput(found, reports.MADE_AT))
    assert get_tiles_by_name(page)["Views"] == ["1", "in 0 finished sessions"]
    assert list_insights(page) == ["Somebody is reading; this fills in when they finish."] * 3
    found["summary"] |= {"totalSessions": 1}
    quiet = ["No views in this time.", "Nobody has finished reading yet.", "No views yet."]
    assert list_insights(render_report(ReportInput(found, reports.MADE_AT))) == quiet


@pytest.mark.parametrize(("shown", "has_drop"), [([12, 12], True), ([12, 3], False), ([3, 3], False)])
def test_the_last_page_of_a_shorter_link_does_not_count_as_a_drop(shown: list[int], has_drop: bool) -> None:
    rows = [{"sessionId": reports.UUID, "pagesViewed": 1, "shownPages": pages} for pages in shown]
    page = render_report(ReportInput(reports.pro_report(sessions=rows), reports.MADE_AT))
    assert list_insights(page)[1].startswith("44.1% of the sessions reached page 12, the last one.")
    assert ("largest drop" in list_insights(page)[1]) is has_drop


def test_pages_seen_refer_to_the_pages_that_the_reader_was_shown() -> None:
    rows = [{"sessionId": reports.UUID, "pagesViewed": 3, "shownPages": 3}]
    page = render_report(ReportInput(reports.pro_report(sessions=rows), reports.MADE_AT))
    assert list_table_rows(page.find_one("table", class_="sessions"))[0][-1] == "3 of 3"
    assert get_tiles_by_name(page)["Pages seen"][1] == "of the pages they were shown, on average"


def test_the_funnel_table_contains_the_numbers() -> None:
    lines = list_table_rows(render_report(full_material()).find_one("figure", id="funnel"))
    assert lines[0] == ["1", "118", "100%"]
    assert lines[5] == ["6", "71", "60.2%"]


def test_half_a_percent_is_rounded_up() -> None:
    shown = reports.pro_report(devices=[{"label": "Desktop", "count": 7}, {"label": "Mobile", "count": 1}])
    assert "Desktop7 88% Mobile1 13%" in render_report(ReportInput(shown, reports.MADE_AT)).words


def test_bar_widths_are_proportional_to_the_numbers() -> None:
    found = render_report(full_material()).find_all("section", **{"aria-labelledby": "devices-heading"})[0]
    assert [node.attrs["width"] for node in found.find_all("rect")] == ["100%", "47.253%", "8.791%"]
    assert [node.words for node in found.find_all("li")] == ["Desktop91 64%", "Mobile43 30%", "Tablet8 6%"]


def test_countries_are_named_and_an_unknown_code_is_unchanged() -> None:
    report = reports.basic_report(countries=reports.make_breakdown(("DE", 2), ("TR", 1), ("ZZ", 1), ("", 1)))
    section = render_report(ReportInput(report, reports.MADE_AT)).find_one(
        "section", **{"aria-labelledby": "countries-heading"}
    )
    names = [node.words for node in section.find_all("span", class_="label-name")]
    assert names == ["Germany", "Türkiye", "ZZ", "Unknown"]


def test_a_long_breakdown_shows_eight_rows_and_collapses_the_rest() -> None:
    report = reports.basic_report(
        referrers=reports.make_breakdown(*((f"site{number}.example", 50 - number) for number in range(20)))
    )
    section = render_report(ReportInput(report, reports.MADE_AT)).find_one(
        "section", **{"aria-labelledby": "referrers-heading"}
    )
    assert section.find_one("summary").words == "12 more referrers"
    assert len(section.find_one("details").find_all("li")) == 12
    assert len(section.find_all("li")) == 20


def test_each_page_has_a_thumbnail_and_the_longest_is_highlighted() -> None:
    leaves = render_report(full_material()).find_all("li", class_="leaf")
    assert len(leaves) == 12
    assert leaves[2].find_one("img").attrs == {
        "src": f"{reports.DOT}#3", "width": "842", "height": "595", "alt": "", "loading": "lazy", "decoding": "async",
    }  # fmt: skip
    (longest,) = (leaf for leaf in leaves if leaf.matches(class_="is-longest"))
    assert longest.words.startswith("Page 81m 32s 88 views · 4 back")
    assert leaves[2].find_one("rect").attrs["width"] == "69.33%"


def test_a_long_document_has_sixty_thumbnails_and_a_table_for_the_rest() -> None:
    material = full_material(pages=reports.pages_report(200))
    assert list_thumbnail_pages(material) == list(range(1, 61))
    page = render_report(material)
    assert len(page.find_all("li", class_="leaf")) == 60
    table = page.find_one("section", id="pages").find_one("details")
    assert table.find_one("summary").words == "140 more pages"
    assert len(list_table_rows(table)) == 140


def test_a_later_page_has_a_thumbnail_if_it_has_annotations() -> None:
    has_drop = {
        "pages": [{"page": 150, "annotations": [reports.make_annotation("Here", x=0.1, y=0.1, width=0.1, height=0.1)]}]
    }
    assert list_thumbnail_pages(full_material(pages=reports.pages_report(200), annotations=has_drop))[-1] == 150


def test_a_very_long_document_has_a_report_of_bounded_size() -> None:
    html = str(draw(full_material(pages=reports.pages_report(50_000))))
    assert len(html) < 2_000_000
    assert "47940 more pages are listed by" in parse_html(html).words


def test_the_page_range_is_named_and_unread_hidden_pages_are_omitted() -> None:
    report = reports.pro_report(file=reports.file_object(pageRange={"from": 3, "to": 9}), effectivePages=7)
    read = reports.pages_report()
    for row in read["pages"]:
        row["views"] *= row["pageNumber"] > 2
    page = render_report(full_material(report=report, pages=read))
    assert page.find_one("p", class_="notice").words.startswith("Readers see pages 3 to 9 only, unless their own link")
    numbers = [node.words for node in page.find_all("span", class_="leaf-number")]
    assert numbers == [*"3456789", "10", "11", "12"]
    assert [node.words for node in page.find_all("td", class_="seen")][:3] == ["1 of 7", "6 of 7", "11 pages"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"viewLimit": 50, "viewsConsumed": 12}, "12 of 50 views are used."),
        ({"deleteAt": "2026-12-31T23:00:00.000Z"}, "The link ends on 31 Dec 2026, 23:00 UTC."),
        (
            {"viewLimit": 3, "viewsConsumed": 3, "burnedAt": "2026-09-01T08:00:00.000Z"},
            "The view limit was reached on 1 Sep 2026, 08:00 UTC. The link is closed; readership is kept.",
        ),
    ],
)
def test_limits_of_the_link_are_shown(more: dict[str, Any], said: str) -> None:
    page = render_report(ReportInput(reports.free_report(file=reports.file_object(**more)), reports.MADE_AT))
    assert page.find_one("p", class_="notice").words == said


def test_the_report_of_an_unread_file_shows_the_link() -> None:
    report = reports.pro_report()
    report["summary"] = dict.fromkeys(report["summary"], 0)
    material = ReportInput(report, reports.MADE_AT, pages=reports.pages_report(), code="/qr.png")
    assert list_thumbnail_pages(material) == []
    page = render_report(material)
    assert list_headings(page) == ["Nobody has read it yet"]
    assert page.find_one("img").attrs["src"] == "/qr.png"
    assert page.find_one("img").attrs["alt"] == "QR code of the link"
    assert page.find_all("a", href="http://127.0.0.1:8787/aB3dE5fG7hJ9")
    assert page.find_all("figure") == []


def test_the_session_table_shows_reader_place_time_and_pages() -> None:
    table = render_report(full_material()).find_all("table", class_="sessions")[0]
    lines = list_table_rows(table)
    assert len(lines) == 20
    assert lines[0][0].startswith("Ann Lee (ann@northwind.example)")
    assert "Germany · Desktop · Chrome returning invited" in lines[0][0]
    assert lines[0][1:] == ["21 Sep 2026, 13:00", "31s", "1 of 12"]
    assert "link of Chi Wen, Blue Harbour" in lines[2][0]  # all variants of these reports have the same UUID
    assert lines[4][0].startswith("A reader")


def test_sessions_of_an_older_version_are_marked() -> None:
    more = render_report(full_material()).find_all("table", class_="sessions")[1]
    assert [("version 1" in line[0]) for line in list_table_rows(more)] == [True] * 6


def test_the_contacts_table_has_a_column_per_field() -> None:
    section = render_report(full_material()).find_one("section", **{"aria-labelledby": "contacts-heading"})
    assert [node.words for node in section.find_one("thead").find_all("th")] == ["email", "company", "Submitted"]
    assert list_table_rows(section)[1] == ["bob@ray.example", "Ray & Sons", "18 Sep 2026, 16:40"]


def test_recipients_are_sorted_by_sessions_and_show_the_state_of_their_link() -> None:
    section = render_report(full_material()).find_one("section", **{"aria-labelledby": "recipients-heading"})
    assert list_table_rows(section) == [
        ["Ann Lee, Northwind Capital", "21", "3m 32s"],
        ["Bob Ray revoked", "9", "1m 11s"],
        ["Label erased", "7", "44s"],
        ["Chi Wen, Blue Harbour", "0", "0s"],
    ]


def test_taps_are_listed_by_hotspot_and_call_to_action() -> None:
    section = render_report(full_material()).find_one("section", **{"aria-labelledby": "taps-heading"})
    words = [node.words for node in section.find_all("li")]
    assert words == ["Book a call page 318", "Listen to the founder page 87", "Call to action on every page12"]


def test_annotations_are_numbered_rectangles_on_their_page() -> None:
    proof = render_report(full_material()).find_one("li", id="proof-3")
    first = proof.find_one("svg", class_="overlay").find_all("rect")[0].attrs
    assert [first[key] for key in ("x", "y", "width", "height")] == ["10%", "15%", "40%", "12%"]
    assert [node.words for node in proof.find_all("text")] == ["1", "2"]
    remarks = proof.find_one("ol", class_="remarks").find_all("li")
    assert remarks[0].words == "1This number is from last year.Reader 7F3A · 19 Sep 2026, 08:30"


def test_annotation_rectangles_are_clipped_to_the_page() -> None:
    wild = [
        reports.make_annotation("a", x=0.9, y=0.9, width=5, height=5),
        reports.make_annotation("b", x=-1, y="x", width=0.5, height=0.5),
        reports.make_annotation("c", x=2, y=2, width=1, height=1),
        reports.make_annotation("d"),
    ]
    page = render_report(full_material(annotations={"pages": [{"page": 1, "annotations": wild}]}))
    boxes = [
        [float(node.attrs[key].rstrip("%")) for key in ("x", "y", "width", "height")]
        for node in page.find_one("li", id="proof-1").find_one("svg", class_="overlay").find_all("rect")
    ]
    assert boxes == [[90, 90, 10, 10], [0, 0, 50, 50]]


def test_marks_are_shown_as_a_bar_and_as_text() -> None:
    proof = render_report(full_material()).find_one("li", id="proof-3")
    bars = proof.find_one("svg", class_="stack").find_all("rect")
    assert [(bar.attrs["class"], bar.attrs["width"]) for bar in bars] == [
        ("pick", "57.143%"), ("maybe", "28.571%"), ("reject", "14.286%"),
    ]  # fmt: skip
    assert [node.words for node in proof.find_all("span", class_="mark")] == ["✓ 4 pick", "? 2 maybe", "✗ 1 reject"]
    who = (
        render_report(full_material()).find_one("section", **{"aria-labelledby": "proofs-heading"}).find_one("details")
    )
    assert who.find_all("li")[0].words == "ann@northwind.example✓ page 3✓ page 8"


def test_notes_and_receipts_are_listed_newest_first() -> None:
    page = render_report(full_material())
    notes = page.find_one("ol", class_="notes").find_all("li")
    assert [note.find_one("b").words for note in notes] == ["Reader", "Ann Lee"]
    assert [tag.words for tag in notes[1].find_all("span", class_="tag")] == ["page 4", "private"]
    assert notes[1].find_one("span", class_="soft").words == "Reader 7F3A"  # next to the chosen name
    section = page.find_one("section", **{"aria-labelledby": "receipts-heading"})
    assert section.find_one("li").words == "Ann Lee ann@northwind.example20 Sep 2026, 10:15 · version 2"


def test_headings_never_skip_a_level_and_ids_are_unique() -> None:
    page = render_report(full_material())
    levels = [int(node.tag[1]) for node in page.nodes if re.fullmatch("h[1-6]", node.tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = [node.attrs["id"] for node in page.nodes if "id" in node.attrs]
    assert len(ids) == len(set(ids))


def test_the_report_contains_no_inline_style_or_script() -> None:
    for node in render_report(full_material()).nodes:
        assert node.tag not in ("script", "style", "iframe", "object", "embed", "form")
        assert not [key for key in node.attrs if key == "style" or key.startswith("on")]


@pytest.mark.parametrize("text", XSS)
def test_hostile_text_is_escaped_in_every_field(text: str) -> None:
    material = full_material()
    parts = {
        name: reports.poison_texts(getattr(material, name), text)
        for name in ("report", "marks", "annotations", "feedback")
    }
    page = parse_html(render_standalone(replace(material, **parts), "https://docs.example.com"))
    for node in page.nodes:
        assert node.tag not in ("script", "iframe", "object", "embed", "base", "form", "link")
        assert not [key for key in node.attrs if key.startswith("on") or key == "style"]
        assert not node.attrs.get("href", "").startswith(("javascript", "data"))
    said = " ".join(text.replace("\x00", "").encode("utf-8", "replace").decode().split())
    assert page.find_one("h1").words == said
    assert page.find_one("ol", class_="notes").find_all("p", class_="note-body")[0].words == said


JUNK: tuple[Any, ...] = (
    None, True, -1, 10**40, 1e308, float("nan"), float("inf"), "", "x", [], {}, [[]], [None], {"x": {}}, [{"page": {}}],
)  # fmt: skip


@pytest.mark.parametrize("junk", JUNK, ids=repr)
def insert_junk(row: dict[str, Any], place: int, junk: Any) -> dict[str, Any]:
    """Return ``row`` with junk under the key at position ``place`` (modulo its length)."""
    return row | {list(row)[place % len(row)]: junk}


@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_the_report_renders_with_any_junk_in_the_data(junk: Any) -> None:
    material = full_material()
    for place in range(len(reports.file_object())):
        report = dict(material.report)
        for section, value in report.items():
            if isinstance(value, dict):
                report[section] = insert_junk(value, place, junk)
            elif isinstance(value, list):
                report[section] = [insert_junk(value[0], place, junk), *value[1:], junk]
        answers = {
            name: insert_junk(getattr(material, name), place, junk)
            for name in ("pages", "marks", "annotations", "feedback")
        }
        assert "</main>" in draw(replace(material, report=report, **answers))
        assert "</main>" in draw(replace(material, report=insert_junk(reports.pro_report(), place, junk)))


def test_extremely_large_numbers_do_not_break_the_charts() -> None:
    report = reports.pro_report(peakTimes=[{"dow": 1, "hour": 2, "count": 10**15}])
    report["viewsOverTime"] = [{"day": "2026-09-21", "count": 10**15}]
    page = render_report(replace(full_material(), report=report))
    assert "1,000,000,000,000,000" in page.find_one("figure", id="views").words
    json.dumps(page.words)
