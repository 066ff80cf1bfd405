"""Collect all findings for one file. Runs only inside the worker."""

import json
from typing import Any

import pikepdf

from docshare.contract.amounts import format_plural
from docshare.server.pdf.worker.documents import DocumentCache, OpenPdfDocument, PdfRefused
from docshare.server.pdf.worker.lint import about, layers, sight, versions
from docshare.server.pdf.worker.lint.findings import FindingCollector
from docshare.server.pdf.worker.lint.inside import DocumentSurvey

# The exceptions that entries of unexpected types cause.
_MALFORMED_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, RuntimeError, TypeError, ValueError)


def lint_document(documents: DocumentCache, job: dict[str, Any]) -> bytes:
    """Return the findings for the ``file`` of ``job`` and its number of pages as JSON, in about ``budget_s`` seconds.

    Raises PdfRefused: ``password``, ``protection``, ``broken``, ``missing``.
    """
    findings = FindingCollector(job["budget_s"])
    document = documents.open(job["file"])
    try:
        lint_structure(document, findings)
    except pikepdf.PasswordError as error:
        raise PdfRefused("password") from error
    except (pikepdf.PdfError, *_MALFORMED_ERRORS):
        findings.add("unchecked", "warning", "The file is damaged; only the visible page contents were checked.")
    sight.check_hidden_text(document, findings)
    found = findings.list_findings(document.count)
    return json.dumps({"pages": document.count, "findings": found}).encode("ascii")


def lint_structure(document: OpenPdfDocument, findings: FindingCollector) -> None:
    """Run all checks that do not render pages. Raises the exceptions of pikepdf for a file that it cannot read."""
    with pikepdf.open(document.reader()) as pdf:
        about.check_metadata(pdf, findings)
        layers.check_layers(pdf, findings)
        DocumentSurvey(pdf, findings).run()
    document.file.seek(0)
    earlier = versions.count_earlier_versions(document.file)
    if earlier:
        message = f"Contains {format_plural(earlier, 'earlier revision')}, so deleted content can be recovered."
        findings.add("revisions", "warning", message)
