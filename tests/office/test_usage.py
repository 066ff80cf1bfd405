"""Resource limits of conversions, tested with scripts in place of LibreOffice."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from docshare.contract.problems import Problem
from docshare.server.office import convert as converting
from docshare.server.office import usage
from docshare.server.office.convert import OfficeConverter
from docshare.server.store.blobs import PartialFile
from tests.office.conftest import catch_problem, list_processes
from tests.support.documents import office

MB = 1 << 20
DISK = "Converting the document takes too much disk space."
MEMORY = "Converting the document takes too much memory."
THREADS = "Converting the document takes too many processes."

Run = Callable[[str], None]


@pytest.fixture
def run(
    build: Callable[..., OfficeConverter],
    fake_soffice: Callable[[str], Path],
    write_file: Callable[[bytes, str], Path],
    part: PartialFile,
) -> Run:
    """Return a function that runs a conversion with a shell script in place of LibreOffice."""
    source = write_file(office.make_docx(), "letter.docx")
    return lambda script: build(fake_soffice(script)).convert(source, "docx", part) and None


def run_until_aborted(run: Run, script: str) -> Problem:
    """Return the Problem of a conversion that runs ``script`` and does not end by itself."""
    start = time.monotonic()
    problem = catch_problem(lambda: run(f"{script}; sleep 1000"))
    assert time.monotonic() - start < 30  # the time limit is 60 seconds
    return problem


WRITING = {
    "one file": "head -c 40M /dev/zero > x",
    "many files": "for n in $(seq 40); do head -c 1M /dev/zero > x$n; done",
    "a directory": "mkdir -p a/b/c; head -c 40M /dev/zero > a/b/c/x",
    "a directory without rights": "mkdir a; head -c 40M /dev/zero > a/x; chmod 0 a",
    "a deleted file": "exec 7> x; rm x; head -c 40M /dev/zero >&7",
    "deep directories": "for n in $(seq 100); do mkdir d; cd d; done",
}


@pytest.mark.parametrize("level", ["jail", "bare"])
@pytest.mark.parametrize("name", WRITING)
def test_a_conversion_that_fills_the_disk_is_aborted(
    run: Run, data: Path, part: PartialFile, monkeypatch: pytest.MonkeyPatch, name: str, level: str
) -> None:
    monkeypatch.setattr(usage, "DISK_BYTES", 20 * MB)
    monkeypatch.setattr(converting, "ISOLATION_LEVELS", (level,))
    problem = run_until_aborted(run, WRITING[name])
    assert (problem.status, problem.code, problem.detail) == (422, "unprocessable", DISK)
    assert (list_processes(data), list(data.iterdir()), part.size) == ({}, [], 0)


def test_a_conversion_that_creates_too_many_files_is_aborted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "MAX_FILES", 200)
    assert run_until_aborted(run, "for n in $(seq 300); do : > x$n; done").detail == DISK


def test_holes_of_a_sparse_file_do_not_count_as_disk_space(
    run: Run, part: PartialFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage, "DISK_BYTES", 20 * MB)
    run("truncate -s 400M x; sleep 1.5; echo %PDF-1.7 > document.pdf")
    assert part.size == 9


HOLDING = "(head -c 30M /dev/zero; sleep 1000) | tail -c 30M > /dev/null"  # tail keeps all of its input in memory


@pytest.mark.parametrize(
    ("script", "limit"), [(HOLDING, 35), (f"for n in 1 2 3; do ({HOLDING}) & done", 80)], ids=["one", "several"]
)
def test_a_conversion_that_uses_too_much_memory_is_aborted(
    run: Run, data: Path, monkeypatch: pytest.MonkeyPatch, script: str, limit: int
) -> None:
    monkeypatch.setattr(usage, "MEMORY_BYTES", limit * MB)
    problem = run_until_aborted(run, script)
    assert (problem.status, problem.code, problem.detail) == (422, "unprocessable", MEMORY)
    assert (list_processes(data), list(data.iterdir())) == ({}, [])


@pytest.fixture
def python(tmp_path: Path) -> Iterator[Callable[[str], int]]:
    """Return a function that starts a Python script and returns its process ID once it has printed a line."""
    with contextlib.ExitStack() as stack:

        def start(script: str) -> int:
            command = [sys.executable, "-c", f"import os, time; {script}; print(flush=True); time.sleep(1000)"]
            started = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True))
            stack.callback(os.killpg, started.pid, signal.SIGKILL)
            assert started.stdout is not None
            started.stdout.readline()
            return started.pid

        yield start


def test_an_anonymous_memory_file_counts_as_memory(
    python: Callable[[str], int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = python("f = os.memfd_create('x'); [os.write(f, b'x' * (1 << 20)) for _ in range(90)]")
    usage.check(number, tmp_path)
    monkeypatch.setattr(usage, "MEMORY_BYTES", 80 * MB)
    with pytest.raises(usage.ExcessError, match=r"^too much memory$"):
        usage.check(number, tmp_path)


def test_shared_memory_counts_once(
    python: Callable[[str], int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = python("b = b'x' * (60 << 20); [os.fork() or time.sleep(1000) for _ in '123']")
    everything = [number, *usage.descendants(number)]
    assert len(everything) == 4
    assert usage._resident(everything) > 240 * MB
    monkeypatch.setattr(usage, "MEMORY_BYTES", 150 * MB)
    usage.check(number, tmp_path)


def test_a_conversion_with_too_many_processes_is_aborted(run: Run, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "MAX_THREADS", 50)
    assert run_until_aborted(run, "for n in $(seq 100); do sleep 1000 & done").detail == THREADS
    assert list_processes(data) == {}
