"""Fixtures: a converter with the real LibreOffice, legacy documents, and a record of LibreOffice's starts."""

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from docshare.contract.problems import Problem
from docshare.server.office import convert as converting
from docshare.server.office.convert import OfficeConverter, find_program
from docshare.server.office.process import JailedCommand
from docshare.server.store.blobs import PartialFile
from tests.support.documents import office

Put = Callable[[bytes, str], Path]


@pytest.fixture(scope="session")
def program() -> Path:
    found = find_program()
    assert found is not None, "these tests need LibreOffice; tests/run installs it"
    return found


@pytest.fixture(scope="session")
def legacy_documents(program: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return a .doc and a .ppt, written by LibreOffice."""
    folder = tmp_path_factory.mktemp("old")
    for name, data, target in (
        ("word.docx", office.make_docx(), "doc"),
        ("slides.pptx", office.make_pptx("Old slides"), "ppt"),
    ):
        (folder / name).write_bytes(data)
        command = [
            program,
            f"-env:UserInstallation={(folder / 'profile').as_uri()}",
            "--headless",
            "--convert-to",
            target,
        ]
        subprocess.run([*command, "--outdir", folder, folder / name], check=True, capture_output=True, timeout=120)
    return {"doc": (folder / "word.doc").read_bytes(), "ppt": (folder / "slides.ppt").read_bytes()}


@pytest.fixture
def write_file(tmp_path: Path) -> Put:
    """Return a function that writes bytes to a file with the given name and returns its path."""
    numbers = count()

    def write(data: bytes, name: str) -> Path:
        path = tmp_path / f"in{next(numbers)}" / name
        path.parent.mkdir()
        path.write_bytes(data)
        return path

    return write


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return the directory for temporary files below a data directory."""
    path = tmp_path / "data" / "tmp"
    path.mkdir(parents=True)
    return path


@pytest.fixture
def build(data: Path) -> Iterator[Callable[..., OfficeConverter]]:
    """Return a function that creates a converter and closes it afterwards."""
    created: list[OfficeConverter] = []

    def make(program: Path | None, **settings: float) -> OfficeConverter:
        created.append(OfficeConverter(data, program, **settings))  # type: ignore[arg-type]
        return created[-1]

    yield make
    for converter in created:
        converter.close()


@pytest.fixture
def converter(build: Callable[..., OfficeConverter], program: Path) -> OfficeConverter:
    """Return a converter with default settings."""
    return build(program)


@pytest.fixture
def part(tmp_path: Path) -> Iterator[PartialFile]:
    """Return an empty partial file for a PDF."""
    created = PartialFile(tmp_path / "made.part")
    yield created
    created.discard()


@pytest.fixture
def soffice_starts(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return the list of commands with which LibreOffice is started."""
    commands: list[list[str]] = []

    class Counted(JailedCommand):
        def __init__(self, order: converting.JailJob) -> None:
            commands.append(order["command"])
            super().__init__(order)

    monkeypatch.setattr(converting, "JailedCommand", Counted)
    return commands


@pytest.fixture
def fake_soffice(tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that replaces LibreOffice with a script, which runs in the directory of the conversion."""

    def make(script: str) -> Path:
        path = tmp_path / "fake" / "soffice"
        path.parent.mkdir(exist_ok=True)
        path.parent.chmod(0o755)  # whatever the umask: the user of the command must find the program
        path.write_text(f'#!/bin/sh\n[ "$2" = --version ] && exit 0\n{script}\n', encoding="utf-8")
        path.chmod(0o755)
        return path

    return make


def list_processes(data: Path) -> dict[int, str]:
    """Return the ID and command line of each process that works in ``data`` or has it in its arguments."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            line = (process / "cmdline").read_text(encoding="utf-8").replace("\0", " ")
            if str(data) in line or os.readlink(process / "cwd").startswith(str(data)):
                found[int(process.name)] = line
    return found


def catch_problem(call: Callable[[], object]) -> Problem:
    """Return the Problem that ``call`` raises."""
    with pytest.raises(Problem) as caught:
        call()
    return caught.value
