"""As ``warmup``, for the jobs that edit or lint. Runs inside the worker only, before it is confined."""

import codecs
import io

import pikepdf

from docshare.server.pdf.worker import derive, resave
from docshare.server.pdf.worker.documents import Document
from docshare.server.pdf.worker.lint import clean, report
from docshare.server.pdf.worker.lint.findings import Findings
from docshare.server.pdf.worker.warmup import MARK


def edit() -> None:
    """Make every kind of answer about a document of two empty pages."""
    codecs.lookup("pdfdoc")
    document = Document(_blank_pages())
    report.structure(document, Findings(1.0))
    derive.document(document, {"total": 2, "first": 1, "last": 1, "mark": MARK})
    for _ in resave.rewrite(document):
        pass
    document.close()
    clean.copy(_blank_pages(), keep_title=True)


def _blank_pages() -> io.BytesIO:
    made = io.BytesIO()
    with pikepdf.new() as pdf:
        pdf.add_blank_page(page_size=(72, 72))
        pdf.add_blank_page(page_size=(72, 72))
        with pdf.open_metadata() as metadata:
            metadata["dc:title"] = "x"
        pdf.save(made)
    return made
