"""The outline of a document: which entries are returned, their levels and pages."""

import io
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pikepdf
import pytest
from pikepdf import Array, Dictionary, Name, String

from docshare.server.pdf.engine import PdfEngine, UnrenderableError
from tests.support.documents.outlines import OutlineRow, add_outline
from tests.support.documents.pdfs import header_only_pdf, simple_pdf

Put = Callable[..., Path]


def read_outline(engine: PdfEngine, path: Path) -> list[OutlineRow]:
    return [tuple(entry) for entry in engine.outline(path)]  # type: ignore[misc]


def make_bookmarks(build: Callable[[pikepdf.Pdf], list[Dictionary]]) -> bytes:
    """Return three pages with the bookmarks that ``build`` returns, one after another."""
    out = io.BytesIO()
    with pikepdf.open(io.BytesIO(simple_pdf(3))) as pdf:
        bookmarks = [pdf.make_indirect(each) for each in build(pdf)]
        for one, other in pairwise(bookmarks):
            one.Next = other
        pdf.Root.Outlines = pdf.make_indirect(Dictionary(First=bookmarks[0], Last=bookmarks[-1]))
        pdf.save(out)
    return out.getvalue()


def test_entries_have_levels_pages_and_titles_in_reading_order(engine: PdfEngine, write_file: Put) -> None:
    rows: list[OutlineRow] = [
        (0, 1, "Preface"), (0, None, "Part I"), (1, 2, "Prix et caf\u00e9s"), (2, 2, "\u5de5\u4f5c \U0001f600"),
        (1, 3, "Second"), (0, 3, "Index"),
    ]  # fmt: skip
    assert read_outline(engine, write_file(add_outline(simple_pdf(3), rows))) == rows


def test_a_document_without_an_outline_has_no_entries(engine: PdfEngine, write_file: Put) -> None:
    assert read_outline(engine, write_file(simple_pdf(3))) == []


def test_only_targets_inside_the_document_are_pages(engine: PdfEngine, write_file: Put) -> None:
    def build(pdf: pikepdf.Pdf) -> list[Dictionary]:
        page = pdf.pages[1].obj
        pdf.Root.Dests = Dictionary({"/Chapter": Array([pdf.pages[2].obj, Name.Fit])})
        return [
            Dictionary(Title="direct", Dest=Array([page, Name.XYZ, 0, 700, 0])),
            Dictionary(Title="action", A=Dictionary(S=Name.GoTo, D=Array([page, Name.Fit]))),
            Dictionary(Title="named", Dest=Name.Chapter),
            Dictionary(Title="unknown name", Dest=Name.Nowhere),
            Dictionary(Title="web", A=Dictionary(S=Name.URI, URI=String("https://example.com/"))),
            Dictionary(Title="script", A=Dictionary(S=Name.JavaScript, JS=String("app.alert(1)"))),
            Dictionary(Title="other file", A=Dictionary(S=Name.GoToR, F=String("b.pdf"), D=Array([0, Name.Fit]))),
            Dictionary(Title="no such page", Dest=Array([99, Name.Fit])),
        ]

    assert read_outline(engine, write_file(make_bookmarks(build))) == [
        (0, 2, "direct"), (0, 2, "action"), (0, 3, "named"), (0, None, "unknown name"), (0, None, "web"),
        (0, None, "script"), (0, None, "other file"), (0, None, "no such page"),
    ]  # fmt: skip


def test_titles_are_one_line_of_at_most_200_characters(engine: PdfEngine, write_file: Put) -> None:
    def build(_: pikepdf.Pdf) -> list[Dictionary]:
        titles = [" Two\r\n lines\t\u2028here\x85 ", "", "\x00\x01", "x" * 300]
        return [Dictionary(Title=title) for title in titles]

    assert read_outline(engine, write_file(make_bookmarks(build))) == [
        (0, None, "Two lines here"),
        (0, None, "x" * 200),
    ]


def test_a_circle_of_bookmarks_ends(engine: PdfEngine, write_file: Put) -> None:
    def build(pdf: pikepdf.Pdf) -> list[Dictionary]:
        first = pdf.make_indirect(Dictionary(Title="first"))
        second = pdf.make_indirect(Dictionary(Title="second", Next=first))
        first.First = second
        return [first]

    assert read_outline(engine, write_file(make_bookmarks(build))) == [(0, None, "first"), (1, None, "second")]


def test_levels_below_the_twelfth_are_omitted(engine: PdfEngine, write_file: Put) -> None:
    rows: list[OutlineRow] = [(level, 1, f"Level {level}") for level in range(15)]
    assert read_outline(engine, write_file(add_outline(simple_pdf(3), rows))) == rows[:12]


def test_a_huge_outline_is_cut(engine: PdfEngine, write_file: Put) -> None:
    rows: list[OutlineRow] = [(0, 1, f"Entry {number}") for number in range(10_050)]
    found = read_outline(engine, write_file(add_outline(simple_pdf(3), rows)))
    assert 0 < len(found) <= 10_000
    assert found == rows[: len(found)]


def test_a_broken_document_has_no_readable_outline(engine: PdfEngine, write_file: Put) -> None:
    with pytest.raises(UnrenderableError):
        engine.outline(write_file(header_only_pdf()))
