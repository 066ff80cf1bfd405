"""Links of a page: which are returned, their areas and their targets."""

from collections.abc import Callable
from pathlib import Path

import pytest

from docshare.server.pdf.engine import PdfEngine
from tests.support.documents import pdfs

Put = Callable[..., Path]


def list_link_targets(engine: PdfEngine, path: Path, page: int = 1) -> list[dict[str, str | int]]:
    return [link.target for link in engine.text(path, page).links]


def make_linked_pdf(action: str) -> bytes:
    """Return a page with one link annotation over (72, 600) to (172, 700)."""
    link = f"<< /Type /Annot /Subtype /Link /Rect [72 600 172 700] {action} >>"
    return pdfs.sheets_pdf([pdfs.Sheet(annots=[link]), pdfs.Sheet()])


def test_only_web_email_and_page_links_are_returned(engine: PdfEngine, write_file: Put) -> None:
    assert list_link_targets(engine, write_file(pdfs.linked_pdf())) == [
        {"url": "https://example.com/a?b=1&c=2"},
        {"page": 3},
        {"page": 2},
        {"url": "mailto:someone@example.com"},
        {"url": "https://example.org/written"},
        {"url": "mailto:team@example.org"},
    ]


def test_a_link_has_the_area_of_its_annotation(engine: PdfEngine, write_file: Put) -> None:
    (link,) = engine.text(write_file(make_linked_pdf("/A << /S /URI /URI (https://example.com/) >>")), 1).links
    assert link[:4] == pytest.approx((72 / 612, 92 / 792, 100 / 612, 100 / 792), abs=0.0001)


def test_a_link_over_two_lines_has_two_areas(engine: PdfEngine, write_file: Put) -> None:
    quads = "/QuadPoints [72 700 172 700 72 680 172 680 72 620 122 620 72 600 122 600]"
    links = engine.text(write_file(make_linked_pdf(f"{quads} /A << /S /URI /URI (https://example.com/) >>")), 1).links
    assert [round(link.w * 612) for link in links] == [100, 50]


def test_a_url_in_the_text_under_an_annotation_is_not_returned_twice(engine: PdfEngine, write_file: Put) -> None:
    link = "<< /Type /Annot /Subtype /Link /Rect [60 710 400 745] /A << /S /URI /URI (https://example.com/real) >> >>"
    sheet = pdfs.Sheet(pdfs.lines_content("https://example.com/shown"), annots=[link])
    assert list_link_targets(engine, write_file(pdfs.sheets_pdf([sheet]))) == [{"url": "https://example.com/real"}]


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert\\(1\\)",
        " javascript:alert\\(1\\)",
        "JaVaScRiPt:alert\\(1\\)//https://example.com",
        "data:text/html,<script>alert\\(1\\)</script>",
        "file:///etc/passwd",
        "vbscript:x",
        "ftp://example.com/",
        "https://example.com/\\001",
        "https://exa mple.com/",
        'https://example.com/"onmouseover=x',
        "https://example.com/" + "a" * 3000,
        "relative/path",
        "",
    ],
)
def test_a_url_that_is_not_a_valid_web_or_email_link_is_dropped(
    engine: PdfEngine, write_file: Put, address: str
) -> None:
    assert list_link_targets(engine, write_file(make_linked_pdf(f"/A << /S /URI /URI ({address}) >>"))) == []


@pytest.mark.parametrize("destination", ["[99 0 R /Fit]", "[(x) /Fit]", "[-1 /Fit]", "[7 /Fit]", "(unknown)", "null"])
def test_a_link_to_a_missing_page_is_dropped(engine: PdfEngine, write_file: Put, destination: str) -> None:
    assert list_link_targets(engine, write_file(make_linked_pdf(f"/Dest {destination}"))) == []


def test_a_url_without_a_scheme_becomes_http(engine: PdfEngine, write_file: Put) -> None:
    found = list_link_targets(engine, write_file(make_linked_pdf("/A << /S /URI /URI (www.example.com/x) >>")))
    assert found == [{"url": "http://www.example.com/x"}]
