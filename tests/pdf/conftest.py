"""A shared engine with real worker processes, and a way to put sample documents on disk."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from docshare.server.pdf.engine import PdfEngine

# Stands for a worker that foreign code has taken over: to its Nth job it answers with the Nth of the given bytes (the
# last of them from then on), computes for some seconds, and writes what else it is given a moment later.
IMPOSTOR = """
import os, socket, sys, time
answers, later, burn = {answers!r}, {later!r}, {burn!r}
os.write(1, b'{{"ready": true, "layers": {{}}, "landlock": 0}}\\n')
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


@pytest.fixture(scope="module")
def engine() -> Iterator[PdfEngine]:
    """An engine with default settings for the tests of one module."""
    shared = PdfEngine()
    yield shared
    shared.close()


@pytest.fixture
def put(tmp_path: Path) -> Callable[..., Path]:
    """Writes bytes to a file of its own and gives its path."""

    def write(data: bytes, name: str = "document.pdf") -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


@pytest.fixture
def pose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Lets all workers started from now on be impostors that give the answers it is called with."""

    def put_in_place(*answers: bytes, later: bytes = b"", burn: float = 0.0) -> None:
        code, program = tmp_path / "impostor.py", tmp_path / "python"
        code.write_text(IMPOSTOR.format(answers=list(answers), later=later, burn=burn), encoding="ascii")
        program.write_text(f"#!/bin/sh\nexec {python} -I {code}\n", encoding="ascii")
        program.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(program))

    python = sys.executable
    return put_in_place
