"""All findings about one file. Runs inside the worker only."""

import json
from typing import Any

import pikepdf

from docshare.server.pdf.worker.documents import DocumentCache, OpenPdfDocument, PdfRefused
from docshare.server.pdf.worker.lint import about, layers, sight, versions
from docshare.server.pdf.worker.lint.findings import FindingCollector, count_of
from docshare.server.pdf.worker.lint.inside import DocumentSurvey

# What comes of entries that are not of the kind they should be.
_MALFORMED_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, RuntimeError, TypeError, ValueError)


def lint_document(documents: DocumentCache, job: dict[str, Any]) -> bytes:
    """The findings about the ``file`` of ``job`` and its number of pages as JSON, within about ``budget_s`` seconds.

    Raises Refused: ``password``, ``protection``, ``broken``, ``missing``.
    """
    findings = FindingCollector(job["budget_s"])
    document = documents.open(job["file"])
    try:
        lint_structure(document, findings)
    except pikepdf.PasswordError as error:
        raise PdfRefused("password") from error
    except (pikepdf.PdfError, *_MALFORMED_ERRORS):
        findings.add("unchecked", "warning", "The file is damaged: nothing but what its pages show was looked at.")
    sight.check_hidden_text(document, findings)
    found = findings.all(document.count)
    return json.dumps({"pages": document.count, "findings": found}).encode("ascii")


def lint_structure(document: OpenPdfDocument, findings: FindingCollector) -> None:
    """Look at everything but the pictures of the pages. Raises what pikepdf raises for a file it cannot read."""
    with pikepdf.open(document.reader()) as pdf:
        about.check_metadata(pdf, findings)
        layers.check_layers(pdf, findings)
        DocumentSurvey(pdf, findings).run()
    document.file.seek(0)
    earlier = versions.count_earlier_versions(document.file)
    if earlier:
        said = f"It holds {count_of(earlier, 'earlier state')} of itself: what was deleted since can be brought back."
        findings.add("revisions", "warning", said)
