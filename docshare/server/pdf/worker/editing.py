"""Do what ``warmup`` does for jobs that edit or lint. Runs only inside the worker, before it is confined."""

import codecs
import io

import pikepdf

from docshare.server.pdf.worker import derive, resave
from docshare.server.pdf.worker.documents import OpenPdfDocument
from docshare.server.pdf.worker.lint import clean, report
from docshare.server.pdf.worker.lint.findings import FindingCollector
from docshare.server.pdf.worker.warmup import SAMPLE_MARK


def warm_up_editing() -> None:
    """Run every kind of editing and linting job on a document of two blank pages."""
    codecs.lookup("pdfdoc")
    document = OpenPdfDocument(_make_blank_pdf())
    report.lint_structure(document, FindingCollector(1.0))
    derive.derive_document(document, {"total": 2, "first": 1, "last": 1, "mark": SAMPLE_MARK})
    for _ in resave.resave(document):
        pass
    document.close()
    clean.make_clean_copy(_make_blank_pdf(), keep_title=True)


def _make_blank_pdf() -> io.BytesIO:
    buffer = io.BytesIO()
    with pikepdf.new() as pdf:
        pdf.add_blank_page(page_size=(72, 72))
        pdf.add_blank_page(page_size=(72, 72))
        with pdf.open_metadata() as metadata:
            metadata["dc:title"] = "x"
        pdf.save(buffer)
    return buffer
