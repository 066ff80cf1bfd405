"""The scan process: its working directory, and the limit on linked pictures."""

import sys
from pathlib import Path

import pytest

from docshare.server.office import scan as scanning
from docshare.server.office.scan import scan_document
from tests.office.conftest import catch_problem
from tests.support.documents import office
from tests.support.documents.office import DOCUMENT_RELS, make_relationship


def make_docx_with_pictures(count: int) -> bytes:
    pictures = (make_relationship(f"p{number}", "image", f"http://a/{number}.png") for number in range(count))
    return office.add_relationships(office.make_docx(), DOCUMENT_RELS, *pictures)


def test_a_document_may_link_to_at_most_1000_pictures(tmp_path: Path) -> None:
    path = tmp_path / "many.docx"
    path.write_bytes(make_docx_with_pictures(1_000))
    assert len(scan_document(path, "docx").pictures) == 1_000
    path.write_bytes(make_docx_with_pictures(1_001))
    problem = catch_problem(lambda: scan_document(path, "docx"))
    assert (problem.status, problem.detail, problem.hint) == (
        422,
        "The document links to more than 1,000 external pictures.",
        "Embed linked pictures and upload the document again.",
    )


def test_the_scan_runs_in_the_root_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compromised scan must not see the working directory of the server."""
    monkeypatch.chdir(tmp_path)
    answer = "import json, os; print(json.dumps({'parts': {}, 'pictures': [os.getcwd()]}))"
    monkeypatch.setattr(scanning, "python_command", lambda *_: ([sys.executable, "-c", answer], {}))
    (tmp_path / "any.docx").touch()
    assert scan_document(tmp_path / "any.docx", "docx").pictures == ["/"]
