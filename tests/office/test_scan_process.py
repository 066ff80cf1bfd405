"""The output and the limits of the scan process."""

import json
import os
import resource
import sys
from pathlib import Path

import pytest

from docshare.server.office import scan as scanning
from docshare.server.office.scan import scan_document
from tests.office.conftest import catch_problem
from tests.support.documents import office

WORD, SLIDES = office.make_docx(), office.make_pptx()


def test_a_scan_process_that_does_not_start_is_503(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "python_command", lambda *_: ([str(tmp_path / "nowhere")], {}))
    problem = catch_problem(lambda: scan_document(tmp_path / "any.docx", "docx"))
    assert (problem.status, problem.headers) == (503, {"Retry-After": "10"})


def test_endless_output_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compromised process must not fill the memory of the server."""
    talk = "import os\nwhile True: os.write(1, b'x' * 65536)"
    monkeypatch.setattr(scanning, "python_command", lambda *_: ([sys.executable, "-c", talk], {}))
    sizes = []
    read = os.read
    monkeypatch.setattr(scanning.os, "read", lambda *asked: sizes.append(len(block := read(*asked))) or block)
    (tmp_path / "any.docx").touch()
    catch_problem(lambda: scan_document(tmp_path / "any.docx", "docx"))
    assert sum(sizes) <= (4 << 20) + (1 << 16)


def test_a_forged_line_does_not_reach_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    answer = json.dumps({"missing": ["seccomp", "x\nerror FORGED"]})
    monkeypatch.setattr(scanning, "python_command", lambda *_: ([sys.executable, "-c", f"print({answer!r})"], {}))
    (tmp_path / "any.docx").touch()
    assert catch_problem(lambda: scan_document(tmp_path / "any.docx", "docx")).status == 503
    assert ("seccomp" in caplog.text, "FORGED" in caplog.text) == (True, False)


def test_a_scan_works_with_many_open_files(tmp_path: Path) -> None:
    """``select`` does not support descriptors above 1,023."""
    (tmp_path / "good.docx").write_bytes(WORD)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    handles = [os.open(os.devnull, os.O_RDONLY) for _ in range(1_100)]
    try:
        assert scan_document(tmp_path / "good.docx", "docx").pictures == []
    finally:
        for handle in handles:
            os.close(handle)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
