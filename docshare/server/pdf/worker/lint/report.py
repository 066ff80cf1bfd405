"""All findings about one file. Runs inside the worker only."""

import json
from typing import Any

import pikepdf

from docshare.server.pdf.worker.documents import Document, Documents, Refused
from docshare.server.pdf.worker.lint import about, layers, sight, versions
from docshare.server.pdf.worker.lint.findings import Findings, some
from docshare.server.pdf.worker.lint.inside import Survey

# What comes of entries that are not of the kind they should be.
_MALFORMED = (ArithmeticError, AttributeError, LookupError, RecursionError, RuntimeError, TypeError, ValueError)


def report(documents: Documents, job: dict[str, Any]) -> bytes:
    """The findings about the ``file`` of ``job`` and its number of pages as JSON, within about ``budget_s`` seconds.

    Raises Refused: ``password``, ``protection``, ``broken``, ``missing``.
    """
    findings = Findings(job["budget_s"])
    document = documents.open(job["file"])
    try:
        structure(document, findings)
    except pikepdf.PasswordError as error:
        raise Refused("password") from error
    except (pikepdf.PdfError, *_MALFORMED):
        findings.add("unchecked", "warning", "The file is damaged: nothing but what its pages show was looked at.")
    sight.look(document, findings)
    found = findings.all(document.count)
    return json.dumps({"pages": document.count, "findings": found}).encode("ascii")


def structure(document: Document, findings: Findings) -> None:
    """Look at everything but the pictures of the pages. Raises what pikepdf raises for a file it cannot read."""
    with pikepdf.open(document.reader()) as pdf:
        about.look(pdf, findings)
        layers.look(pdf, findings)
        Survey(pdf, findings).run()
    document.file.seek(0)
    earlier = versions.earlier(document.file)
    if earlier:
        said = f"It holds {some(earlier, 'earlier state')} of itself: what was deleted since can be brought back."
        findings.add("revisions", "warning", said)
