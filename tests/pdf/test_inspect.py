"""What the engine says about a whole document: pages, sizes, and which files it refuses."""

import io
from collections.abc import Callable
from pathlib import Path

import pikepdf
import pytest

from docshare.contract.problems import Problem
from docshare.server.pdf.engine import Engine
from tests.support import pdfs

Put = Callable[..., Path]


def refusal(engine: Engine, path: Path) -> Problem:
    with pytest.raises(Problem) as caught:
        engine.inspect(path)
    return caught.value


def test_pages_are_counted_and_measured_as_shown(engine: Engine, put: Put) -> None:
    inspection = engine.inspect(put(pdfs.mixed_sizes()))
    assert inspection.total_pages == 5
    assert inspection.sizes == [(612, 792), (842, 595), (240, 144), (792, 612), (400, 280)]


def test_two_thousand_pages_are_counted(engine: Engine, put: Put) -> None:
    inspection = engine.inspect(put(pdfs.many_pages(2000)))
    assert (inspection.total_pages, len(inspection.sizes)) == (2000, 2000)


def test_junk_before_the_header_does_no_harm(engine: Engine, put: Put) -> None:
    assert engine.inspect(put(pdfs.prefixed(1000))).total_pages == 2


def test_an_owner_password_alone_does_not_lock_a_document(engine: Engine, put: Put) -> None:
    assert engine.inspect(put(pdfs.encrypted(owner="secret", pages=4))).total_pages == 4


def test_a_user_password_is_refused_with_the_way_out(engine: Engine, put: Put) -> None:
    problem = refusal(engine, put(pdfs.encrypted(user="open sesame")))
    assert (problem.status, problem.code) == (422, "unprocessable")
    assert "password" in problem.detail
    assert "qpdf --decrypt" in problem.hint


@pytest.mark.parametrize(
    "make", [pdfs.truncated, pdfs.not_a_pdf, pdfs.header_only, pdfs.no_pages, bytes], ids=lambda make: make.__name__
)
def test_what_cannot_be_opened_is_unprocessable(engine: Engine, put: Put, make: Callable[[], bytes]) -> None:
    problem = refusal(engine, put(make()))
    assert (problem.status, problem.detail) == (422, "The file cannot be read as a PDF.")


def test_more_than_fifty_thousand_pages_are_refused(engine: Engine, put: Put) -> None:
    assert refusal(engine, put(pdfs.many_pages(50_001))).detail == "The PDF has more than 50,000 pages."


def test_fifty_thousand_pages_are_allowed(engine: Engine, put: Put) -> None:
    assert engine.inspect(put(pdfs.many_pages(50_000))).total_pages == 50_000


def test_a_damaged_page_keeps_the_others_in_their_place(engine: Engine, put: Put) -> None:
    broken = pdfs.sheets_pdf([pdfs.Sheet(size=(300, 300)), pdfs.Sheet(), pdfs.Sheet(size=(300, 300))])
    start = broken.index(b"/MediaBox [0 0 612 792]")
    broken = broken[:start] + b"/MediaBox (xxxxxxxxxxx)" + broken[start + 23 :]
    assert engine.inspect(put(broken)).sizes == [(300, 300), (612, 792), (300, 300)]


def test_a_missing_page_keeps_the_others_in_their_place(engine: Engine, put: Put) -> None:
    whole = pdfs.sheets_pdf([pdfs.Sheet(size=(300, 300))] * 3)
    start = whole.index(b"/Kids [4 0 R 5 0 R 6 0 R]")
    broken = whole[:start] + b"/Kids [4 0 R null  6 0 R]" + whole[start + 25 :]
    assert engine.inspect(put(broken)).sizes == [(300, 300), (612, 792), (300, 300)]


def test_a_file_replaced_on_disk_is_not_answered_from_memory(engine: Engine, put: Put) -> None:
    assert engine.inspect(put(pdfs.simple_pdf(2))).total_pages == 2
    assert engine.inspect(put(pdfs.simple_pdf(5))).total_pages == 5


def test_compressed_object_streams_are_read(engine: Engine, put: Put) -> None:
    out = io.BytesIO()
    with pikepdf.open(io.BytesIO(pdfs.simple_pdf(7))) as document:
        document.save(out, object_stream_mode=pikepdf.ObjectStreamMode.generate)
    assert engine.inspect(put(out.getvalue())).total_pages == 7
