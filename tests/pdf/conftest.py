"""Fixtures: an engine with real worker processes, sample documents on disk, and impostor workers."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from docshare.server.pdf import budget, schedule
from docshare.server.pdf.child import WorkerProcess
from docshare.server.pdf.engine import PdfEngine
from docshare.server.pdf.linter import PdfLinter

# A worker that an attacker controls. It responds to its Nth job with the Nth of the given byte strings (the last one
# from then on), computes for some seconds, and writes further bytes a moment later.
IMPOSTOR = """
import os, socket, sys, time
answers, later, burn = {answers!r}, {later!r}, {burn!r}
own_id = os.readlink("/proc/self").encode()
os.write(1, b'{{"pid": ' + own_id + b'}}\\n{{"ready": true, "layers": {{}}, "landlock": 0}}\\n')
jobs = socket.socket(fileno=0)
while True:
    line, handles, _, _ = socket.recv_fds(jobs, 65536, 1)
    if not line:
        break
    for handle in handles:
        os.close(handle)
    answer = answers.pop(0) if len(answers) > 1 else answers[0]
    while answer:
        answer = answer[os.write(1, answer):]
    ends = time.process_time() + burn
    while time.process_time() < ends:
        pass
    if later:
        time.sleep(0.2)
        os.write(1, later)
"""
# A template whose forks become the impostors that are current then.
IMPOSTOR_TEMPLATE = """
import os
from docshare.server.pdf.worker import main, template
main.load_libraries = lambda *, edits: None
template.run_worker = lambda *options: os.execv({program!r}, [{program!r}])
template.serve()
"""


@pytest.fixture(scope="module")
def engine() -> Iterator[PdfEngine]:
    """Return an engine with default settings, shared by the tests of one module."""
    shared = PdfEngine()
    yield shared
    shared.close()


@pytest.fixture(scope="module")
def linter() -> Iterator[PdfLinter]:
    """Yield a linter, shared by the tests of one module."""
    with PdfLinter() as shared:
        yield shared


@pytest.fixture
def quick_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let jobs run and end as quick ones. On a busy machine any job may take long; the next job on its document would
    get another worker, which runs only while the processors are idle, or be rejected."""
    for module in (budget, schedule):
        monkeypatch.setattr(module, "QUICK_JOB_S", 60.0)
        monkeypatch.setattr(module, "SLOW_JOB_S", 60.0)


@pytest.fixture
def equal_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the workers of slow documents keep their priority: on a busy machine they would hardly run."""
    monkeypatch.setattr(WorkerProcess, "demote", lambda worker, *, idle: None)


@pytest.fixture
def write_file(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes bytes to a new file and returns its path."""

    def write(data: bytes, name: str = "document.pdf") -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


@pytest.fixture
def start_impostors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that makes all later workers impostors with the given replies."""

    def install(*answers: bytes, later: bytes = b"", burn: float = 0.0) -> None:
        code, template, program = tmp_path / "impostor.py", tmp_path / "template.py", tmp_path / "python"
        code.write_text(IMPOSTOR.format(answers=list(answers), later=later, burn=burn), encoding="ascii")
        template.write_text(IMPOSTOR_TEMPLATE.format(program=str(program)), encoding="ascii")
        program.write_text(
            f'#!/bin/sh\ncase "$*" in *.template) exec {python} {template} ;; esac\nexec {python} -I {code}\n',
            encoding="ascii",
        )
        program.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(program))

    python = sys.executable
    return install
