"""All findings about one file. Runs inside the worker only."""

import json
from typing import Any

import pikepdf

from docshare.server.pdf.documents import Document, Documents, Refused
from docshare.server.pdf.lint import about, layers, sight, versions
from docshare.server.pdf.lint.findings import Findings, some
from docshare.server.pdf.lint.inside import Survey

# What comes of entries that are not of the kind they should be.
_MALFORMED = (ArithmeticError, AttributeError, LookupError, RecursionError, RuntimeError, TypeError, ValueError)


def report(documents: Documents, job: dict[str, Any]) -> bytes:
    """The findings about the file at ``path`` of ``job`` as JSON, within about ``budget_s`` seconds.

    Raises Refused: ``password``, ``protection``, ``broken``, ``missing``.
    """
    findings = Findings(job["budget_s"])
    document = documents.open(job["path"])
    _structure(job["path"], document, findings)
    sight.look(document, findings)
    return json.dumps(findings.all()).encode("ascii")


def _structure(path: str, document: Document, findings: Findings) -> None:
    try:
        with pikepdf.open(path) as pdf:
            about.look(pdf, findings)
            layers.look(pdf, findings)
            Survey(pdf, findings).run()
    except pikepdf.PasswordError as error:
        raise Refused("password") from error
    except (pikepdf.PdfError, *_MALFORMED) as error:
        raise Refused("broken") from error
    document.file.seek(0)
    earlier = versions.earlier(document.file)
    if earlier:
        said = f"It holds {some(earlier, 'earlier state')} of itself: what was deleted since can be brought back."
        findings.add("revisions", "warning", said)
