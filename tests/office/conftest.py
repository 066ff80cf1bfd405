"""A converter with the real LibreOffice, documents only it can make, and a way to count how often it is started."""

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
from tests.support import office

Put = Callable[[bytes, str], Path]


@pytest.fixture(scope="session")
def program() -> Path:
    found = find_program()
    assert found is not None, "these tests need LibreOffice; tests/run installs it"
    return found


@pytest.fixture(scope="session")
def old(program: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A .doc and a .ppt, which nothing but an office program can write."""
    room = tmp_path_factory.mktemp("old")
    for name, data, target in (
        ("word.docx", office.make_docx(), "doc"),
        ("slides.pptx", office.make_pptx("Old slides"), "ppt"),
    ):
        (room / name).write_bytes(data)
        command = [
            program,
            f"-env:UserInstallation={(room / 'profile').as_uri()}",
            "--headless",
            "--convert-to",
            target,
        ]
        subprocess.run([*command, "--outdir", room, room / name], check=True, capture_output=True, timeout=120)
    return {"doc": (room / "word.doc").read_bytes(), "ppt": (room / "slides.ppt").read_bytes()}


@pytest.fixture
def put(tmp_path: Path) -> Put:
    """Writes bytes to a file of the given name and gives its path."""
    numbers = count()

    def write(data: bytes, name: str) -> Path:
        path = tmp_path / f"in{next(numbers)}" / name
        path.parent.mkdir()
        path.write_bytes(data)
        return path

    return write


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The directory for temporary files, beneath a data directory."""
    path = tmp_path / "data" / "tmp"
    path.mkdir(parents=True)
    return path


@pytest.fixture
def build(data: Path) -> Iterator[Callable[..., OfficeConverter]]:
    """A function that makes a converter, closed afterwards."""
    made: list[OfficeConverter] = []

    def make(program: Path | None, **settings: float) -> OfficeConverter:
        made.append(OfficeConverter(data, program, **settings))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for converter in made:
        converter.close()


@pytest.fixture
def converter(build: Callable[..., OfficeConverter], program: Path) -> OfficeConverter:
    """A converter with the usual settings."""
    return build(program)


@pytest.fixture
def part(tmp_path: Path) -> Iterator[PartialFile]:
    """Where a PDF goes."""
    made = PartialFile(tmp_path / "made.part")
    yield made
    made.discard()


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that LibreOffice is started with."""
    commands: list[list[str]] = []

    class Counted(JailedCommand):
        def __init__(self, order: converting.JailJob) -> None:
            commands.append(order["command"])
            super().__init__(order)

    monkeypatch.setattr(converting, "JailedCommand", Counted)
    return commands


@pytest.fixture
def fake(tmp_path: Path) -> Callable[[str], Path]:
    """A function that puts a program in the place of LibreOffice; it runs as that would, in the conversion's room."""

    def make(script: str) -> Path:
        path = tmp_path / "fake" / "soffice"
        path.parent.mkdir(exist_ok=True)
        path.parent.chmod(0o755)  # whatever the umask: the user of the command must find the program
        path.write_text(f'#!/bin/sh\n[ "$2" = --version ] && exit 0\n{script}\n', encoding="utf-8")
        path.chmod(0o755)
        return path

    return make


def list_processes(data: Path) -> dict[int, str]:
    """Number and command line of each process that works in ``data`` or was told about it."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            line = (process / "cmdline").read_text(encoding="utf-8").replace("\0", " ")
            if str(data) in line or os.readlink(process / "cwd").startswith(str(data)):
                found[int(process.name)] = line
    return found


def catch_problem(call: Callable[[], object]) -> Problem:
    """The refusal that ``call`` ends in."""
    with pytest.raises(Problem) as caught:
        call()
    return caught.value
