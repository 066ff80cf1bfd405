"""Inspection of documents: number of pages, page sizes, and rejected files."""

import io
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pikepdf
import pytest

from docshare.contract.problems import Problem
from docshare.server.pdf.budget import Tenant
from docshare.server.pdf.engine import PdfEngine
from tests.support.documents import hostile_pdfs, pdfs

Put = Callable[..., Path]


def inspect_problem(engine: PdfEngine, path: Path, tenant: Tenant | None = None) -> Problem:
    with pytest.raises(Problem) as caught:
        engine.inspect(path, tenant)
    return caught.value


def test_pages_are_counted_and_measured_as_displayed(engine: PdfEngine, write_file: Put) -> None:
    inspection = engine.inspect(write_file(pdfs.mixed_sizes_pdf()))
    assert inspection.total_pages == 5
    assert inspection.sizes == [(612, 792), (842, 595), (240, 144), (792, 612), (400, 280)]


def test_two_thousand_pages_are_counted(engine: PdfEngine, write_file: Put) -> None:
    inspection = engine.inspect(write_file(pdfs.many_pages_pdf(2000)))
    assert (inspection.total_pages, len(inspection.sizes)) == (2000, 2000)


def test_junk_before_the_header_is_ignored(engine: PdfEngine, write_file: Put) -> None:
    assert engine.inspect(write_file(pdfs.prefixed_pdf(1000))).total_pages == 2


def test_an_owner_password_alone_does_not_lock_a_document(engine: PdfEngine, write_file: Put) -> None:
    assert engine.inspect(write_file(pdfs.encrypted_pdf(owner="secret", pages=4))).total_pages == 4


def test_a_document_that_only_one_engine_finds_locked_is_accepted(engine: PdfEngine, write_file: Put) -> None:
    """pdfium reports a wrong password if the permissions are damaged."""
    buffer = io.BytesIO()
    with pikepdf.open(io.BytesIO(pdfs.simple_pdf(pages=3))) as pdf:
        pdf.save(buffer, encryption=pikepdf.Encryption(owner="secret", user="", R=6))
    head, mark, rest = buffer.getvalue().partition(b"/Perms <")
    assert mark
    assert engine.inspect(write_file(head + mark + b"0" * 32 + rest[32:])).total_pages == 3


def test_a_user_password_is_rejected_with_a_hint(engine: PdfEngine, write_file: Put) -> None:
    problem = inspect_problem(engine, write_file(pdfs.encrypted_pdf(user="open sesame")))
    assert (problem.status, problem.code) == (422, "unprocessable")
    assert "password" in problem.detail
    assert "qpdf --decrypt" in problem.hint


@pytest.mark.parametrize(
    "make",
    [pdfs.truncated_pdf, pdfs.html_page, pdfs.header_only_pdf, pdfs.empty_pdf, bytes],
    ids=lambda make: make.__name__,
)
def test_a_file_that_cannot_be_opened_is_unprocessable(
    engine: PdfEngine, write_file: Put, make: Callable[[], bytes]
) -> None:
    problem = inspect_problem(engine, write_file(make()))
    assert (problem.status, problem.detail) == (422, "The file cannot be read as a PDF.")


@pytest.mark.usefixtures("quick_jobs")
@pytest.mark.parametrize(
    "order", [("locked", "empty"), ("empty", "locked"), ("unknown", "empty"), ("empty", "unknown")], ids="-".join
)
def test_the_error_of_a_file_does_not_depend_on_the_previous_file(write_file: Put, order: tuple[str, str]) -> None:
    """pdfium keeps the error of the previous file, which must not be disclosed with another file."""
    locked = pdfs.encrypted_pdf(user="open sesame")
    files = {
        "locked": (locked, "The PDF is password-protected."),
        "unknown": (locked.replace(b"/Standard", b"/Stranger"), "The PDF is protected in an unsupported way."),
        "empty": (pdfs.empty_pdf(), "The file cannot be read as a PDF."),  # pdfium sets no error for it
    }
    with closing(PdfEngine(workers=1)) as engine:
        for name in order:
            data, detail = files[name]
            assert inspect_problem(engine, write_file(data, name), Tenant("account 1", name)).detail == detail
        assert len(engine.pool.list_pids()) == 1


@pytest.mark.parametrize(
    ("whole", "broken"),
    [(b" >>\nstartxref", b"\nstartxref"), (b"/Type /Page /Parent", b"/Type /Font /Parent")],
    ids=["trailer is not closed", "page is called a font"],
)
def test_a_repairable_file_is_accepted_and_stored_unchanged(
    engine: PdfEngine, write_file: Put, whole: bytes, broken: bytes
) -> None:
    data = pdfs.simple_pdf(1, size=(300, 500)).replace(whole, broken)
    path = write_file(data)
    assert engine.inspect(path).sizes == [(300, 500)]
    assert [box.text for box in engine.text(path, 1).boxes] == ["Page 1 of 1"]
    assert engine.render(path, 1, 800) == engine.render(
        write_file(pdfs.simple_pdf(1, size=(300, 500)), "whole.pdf"), 1, 800
    )
    assert path.read_bytes() == data


def test_a_first_page_that_cannot_be_rendered_is_rejected_and_a_slow_one_is_flagged(write_file: Put) -> None:
    with closing(PdfEngine(workers=1, memory_bytes=256 << 20)) as engine:
        problem = inspect_problem(
            engine,
            write_file(
                pdfs.simple_pdf(1).replace(b"/Kids [", b"/Kids [99 0 R ").replace(b"/Count 1 ", b"/Count 2 "),
                "nothing.pdf",
            ),
        )
        assert (problem.status, problem.detail) == (422, "Page 1 of the PDF cannot be rendered.")
        assert inspect_problem(engine, write_file(hostile_pdfs.memory_bomb(), "bomb.pdf")).status == 422
        assert engine.inspect(write_file(hostile_pdfs.slow_page(), "slow.pdf")).is_slow
        assert not engine.inspect(write_file(hostile_pdfs.paced_pages("fs"), "quick.pdf")).is_slow


def test_more_than_fifty_thousand_pages_are_rejected(engine: PdfEngine, write_file: Put) -> None:
    assert (
        inspect_problem(engine, write_file(pdfs.many_pages_pdf(50_001))).detail == "The PDF has more than 50,000 pages."
    )


def test_fifty_thousand_pages_are_allowed(engine: PdfEngine, write_file: Put) -> None:
    assert engine.inspect(write_file(pdfs.many_pages_pdf(50_000))).total_pages == 50_000


def test_a_damaged_page_does_not_change_the_numbers_of_others(engine: PdfEngine, write_file: Put) -> None:
    broken = pdfs.sheets_pdf([pdfs.Sheet(size=(300, 300)), pdfs.Sheet(), pdfs.Sheet(size=(300, 300))])
    start = broken.index(b"/MediaBox [0 0 612 792]")
    broken = broken[:start] + b"/MediaBox (xxxxxxxxxxx)" + broken[start + 23 :]
    assert engine.inspect(write_file(broken)).sizes == [(300, 300), (612, 792), (300, 300)]


def test_a_missing_page_does_not_change_the_numbers_of_others(engine: PdfEngine, write_file: Put) -> None:
    whole = pdfs.sheets_pdf([pdfs.Sheet(size=(300, 300))] * 3)
    start = whole.index(b"/Kids [4 0 R 5 0 R 6 0 R]")
    broken = whole[:start] + b"/Kids [4 0 R null  6 0 R]" + whole[start + 25 :]
    assert engine.inspect(write_file(broken)).sizes == [(300, 300), (612, 792), (300, 300)]


def test_a_file_that_was_replaced_on_disk_is_read_again(engine: PdfEngine, write_file: Put) -> None:
    assert engine.inspect(write_file(pdfs.simple_pdf(2))).total_pages == 2
    assert engine.inspect(write_file(pdfs.simple_pdf(5))).total_pages == 5


def test_compressed_object_streams_are_read(engine: PdfEngine, write_file: Put) -> None:
    out = io.BytesIO()
    with pikepdf.open(io.BytesIO(pdfs.simple_pdf(7))) as document:
        document.save(out, object_stream_mode=pikepdf.ObjectStreamMode.generate)
    assert engine.inspect(write_file(out.getvalue())).total_pages == 7
