"""Conversion with the real LibreOffice: results, rejected documents and cleanup."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pypdfium2
import pytest

from docshare.server.office import convert as converting
from docshare.server.office.convert import OfficeConverter
from docshare.server.office.process import JailedCommand
from docshare.server.store.blobs import PartialFile
from tests.office.conftest import catch_problem, list_processes
from tests.support.documents import office
from tests.support.polling import wait_until

Put = Callable[[bytes, str], Path]
Build = Callable[..., OfficeConverter]

CONVERT_PROGRAM = """
import sys
from pathlib import Path
from docshare.server.store.blobs import PartialFile
from docshare.server.office.convert import OfficeConverter
data, program, source, made = map(Path, sys.argv[1:])
OfficeConverter(data, program).convert(source, "docx", PartialFile(made))
"""
NO_PDF_DETAIL = "The document cannot be converted: it is damaged or uses unsupported features."


def read_page_texts(part: PartialFile) -> list[str]:
    """Return the text of each page of the PDF in ``part`` without spaces, which depend on the fonts of the host."""
    part.close()
    with pypdfium2.PdfDocument(part.path) as document:
        return ["".join(page.get_textpage().get_text_bounded().split()) for page in document]


def test_a_word_document_becomes_a_pdf(
    converter: OfficeConverter, write_file: Put, part: PartialFile, data: Path
) -> None:
    converter.convert(write_file(office.make_docx("Grüße aus Word", pages=3), "letter.docx"), "docx", part)
    assert read_page_texts(part) == ["GrüßeausWord"] * 3
    assert part.head.startswith(b"%PDF-")
    assert part.size == part.path.stat().st_size
    assert list(data.iterdir()) == []


def test_a_presentation_becomes_a_pdf(converter: OfficeConverter, write_file: Put, part: PartialFile) -> None:
    converter.convert(write_file(office.make_pptx("One idea", pages=2), "show.pptx"), "pptx", part)
    assert read_page_texts(part) == ["Oneidea"] * 2


def test_a_legacy_presentation_becomes_a_pdf(
    converter: OfficeConverter, write_file: Put, part: PartialFile, legacy_documents: dict[str, bytes]
) -> None:
    converter.convert(write_file(legacy_documents["ppt"], "show.ppt"), "ppt", part)
    assert read_page_texts(part) == ["Oldslides"]


def test_two_documents_are_converted_at_once(
    converter: OfficeConverter, write_file: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = threading.Barrier(2, timeout=60.0)

    class Together(JailedCommand):
        def __init__(self, order: converting.JailJob) -> None:
            if "--convert-to" in order["command"]:
                both.wait()  # for the start of the other conversion
            super().__init__(order)

    monkeypatch.setattr(converting, "JailedCommand", Together)
    parts = [PartialFile(tmp_path / f"{name}.part") for name in ("first", "second")]
    sources = [write_file(office.make_docx(f"Text {number}"), "same.docx") for number in (0, 1)]
    threads = [
        threading.Thread(target=converter.convert, args=(source, "docx", part))
        for source, part in zip(sources, parts, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [read_page_texts(part) for part in parts] == [["Text0"], ["Text1"]]


@pytest.mark.parametrize(
    ("kind", "document"),
    [
        ("ppt", office.make_ole_container("PowerPoint Document")),
        ("docx", office.remove_part(office.make_docx(), "_rels/.rels")),
    ],
)
def test_a_document_that_libreoffice_silently_skips_is_rejected(
    converter: OfficeConverter, write_file: Put, part: PartialFile, data: Path, kind: str, document: bytes
) -> None:
    problem = catch_problem(lambda: converter.convert(write_file(document, "broken"), kind, part))
    assert (problem.status, problem.detail) == (422, NO_PDF_DETAIL)
    assert (part.size, list(data.iterdir())) == (0, [])


def test_a_truncated_document_is_rejected(
    converter: OfficeConverter, write_file: Put, part: PartialFile, soffice_starts: list[list[str]]
) -> None:
    assert (
        catch_problem(lambda: converter.convert(write_file(office.make_docx()[:-99], "cut.docx"), "docx", part)).status
        == 422
    )
    assert soffice_starts == []


def test_a_hostile_document_is_rejected_before_libreoffice_starts(
    converter: OfficeConverter, write_file: Put, part: PartialFile, soffice_starts: list[list[str]]
) -> None:
    hostile = office.link_object(office.make_pptx(), "file:///etc/passwd")
    problem = catch_problem(lambda: converter.convert(write_file(hostile, "bad.pptx"), "pptx", part))
    assert problem.status == 422
    assert soffice_starts == []


@pytest.mark.parametrize(("kind", "megabytes"), [("docx", 25), ("pptx", 50), ("ppt", 50)])
def test_a_document_over_the_limit_of_its_kind_is_413(
    converter: OfficeConverter, write_file: Put, part: PartialFile, kind: str, megabytes: int
) -> None:
    path = write_file(b"PK", "big")
    with path.open("r+b") as file:
        file.truncate((megabytes << 20) + 1)
    problem = catch_problem(lambda: converter.convert(path, kind, part))
    assert (problem.status, problem.detail) == (
        413,
        f"The file is larger than {megabytes} MB, the limit for .{kind} files.",
    )


def test_without_libreoffice_the_hint_names_the_package(build: Build, write_file: Put, part: PartialFile) -> None:
    without = build(None)
    problem = catch_problem(lambda: without.convert(write_file(office.make_docx(), "letter.docx"), "docx", part))
    assert not without.is_available
    assert (problem.status, problem.headers) == (503, {"Retry-After": "3600"})
    assert "apt install libreoffice-writer-nogui libreoffice-impress-nogui" in problem.hint


def test_libreoffice_is_found_on_the_search_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fake_soffice: Callable[[str], Path]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert converting.find_program() is None
    program = fake_soffice("exit 0")
    monkeypatch.setenv("PATH", str(program.parent))
    assert converting.find_program() == program


def test_a_program_that_does_not_start_is_503(build: Build, write_file: Put, part: PartialFile, tmp_path: Path) -> None:
    broken = build(tmp_path / "soffice")
    problem = catch_problem(lambda: broken.convert(write_file(office.make_docx(), "letter.docx"), "docx", part))
    assert (problem.status, problem.headers) == (503, {"Retry-After": "60"})


@pytest.mark.parametrize(
    "behavior",
    [
        "exit 0",
        "echo '<html>' > document.pdf",
        ": > document.pdf",
        "echo %PDF-1.7 > real; ln -s real document.pdf",
        "echo %PDF-1.7 > real; ln real document.pdf",
        "mkfifo document.pdf",
        "mkdir document.pdf",
        "echo %PDF-1.7 > document.docx",
    ],
    ids=["nothing", "HTML", "empty", "symbolic link", "hard link", "pipe", "directory", "other name"],
)
def test_only_a_regular_pdf_file_is_accepted_as_the_result(
    build: Build, fake_soffice: Callable[[str], Path], write_file: Put, part: PartialFile, data: Path, behavior: str
) -> None:
    converter = build(fake_soffice(behavior))
    assert (
        catch_problem(lambda: converter.convert(write_file(office.make_docx(), "letter.docx"), "docx", part)).status
        == 422
    )
    assert (part.size, list(data.iterdir())) == (0, [])


def test_a_sparse_pdf_over_the_limit_is_not_read(
    build: Build, fake_soffice: Callable[[str], Path], write_file: Put, part: PartialFile, data: Path
) -> None:
    converter = build(fake_soffice("echo %PDF-1.7 > document.pdf; truncate -s 500M document.pdf"))
    problem = catch_problem(
        lambda: converter.convert(write_file(office.make_docx(), "letter.docx"), "docx", part, 20 << 20)
    )
    assert (problem.status, problem.code) == (413, "payload_too_large")
    assert problem.detail == "The converted PDF is larger than the limit of 20 MB."
    assert (part.size, list(data.iterdir())) == (0, [])


def test_a_pdf_of_exactly_the_limit_is_accepted(
    build: Build, fake_soffice: Callable[[str], Path], write_file: Put, part: PartialFile
) -> None:
    converter = build(fake_soffice("echo %PDF-1.7 > document.pdf; truncate -s 20M document.pdf"))
    converter.convert(write_file(office.make_docx(), "letter.docx"), "docx", part, 20 << 20)
    assert part.size == 20 << 20


def test_a_conversion_that_wrote_its_pdf_succeeds_despite_its_exit_code(
    build: Build, fake_soffice: Callable[[str], Path], write_file: Put, part: PartialFile
) -> None:
    build(fake_soffice("echo %PDF-1.7 > document.pdf; exit 1")).convert(
        write_file(office.make_docx(), "letter.docx"), "docx", part
    )
    assert part.path.read_bytes() == b"%PDF-1.7\n"


def test_a_conversion_that_times_out_leaves_no_process_and_no_file(
    build: Build, fake_soffice: Callable[[str], Path], write_file: Put, part: PartialFile, data: Path
) -> None:
    slow = build(fake_soffice("sleep 1000 & trap '' TERM; sleep 1000; sleep 1000"), timeout_s=1.0)
    assert slow.isolation_level  # measured before the timing starts
    start = time.monotonic()
    problem = catch_problem(lambda: slow.convert(write_file(office.make_docx(), "slow.docx"), "docx", part))
    assert (problem.status, problem.detail) == (422, "Converting the document takes too long.")
    assert time.monotonic() - start < 5
    assert list_processes(data) == {}
    assert (part.size, list(data.iterdir())) == (0, [])


def test_background_processes_end_with_the_conversion(
    build: Build, fake_soffice: Callable[[str], Path], write_file: Put, part: PartialFile, data: Path
) -> None:
    build(fake_soffice("sleep 1000 & echo %PDF-1.7 > document.pdf")).convert(
        write_file(office.make_docx(), "left.docx"), "docx", part
    )
    assert list_processes(data) == {}


def test_a_conversion_ends_if_the_server_is_killed(
    fake_soffice: Callable[[str], Path], write_file: Put, data: Path, tmp_path: Path
) -> None:
    source, program = write_file(office.make_docx(), "letter.docx"), fake_soffice("sleep 1000")
    server = subprocess.Popen(
        [sys.executable, "-c", CONVERT_PROGRAM, str(data), str(program), str(source), str(tmp_path / "made.part")],
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with server:
        wait_until(lambda: [line for line in list_processes(data).values() if line.startswith("sleep 1000")])
        server.kill()
    wait_until(lambda: not list_processes(data))


def test_a_conversion_ends_if_its_launcher_is_killed(
    build: Build, fake_soffice: Callable[[str], Path], write_file: Put, part: PartialFile, data: Path
) -> None:
    converter, outcomes = build(fake_soffice("sleep 1000")), []
    source = write_file(office.make_docx(), "letter.docx")
    thread = threading.Thread(
        target=lambda: outcomes.append(catch_problem(lambda: converter.convert(source, "docx", part)).status)
    )
    thread.start()
    wait_until(lambda: [line for line in list_processes(data).values() if line.startswith("sleep 1000")])
    launcher = next(number for number, line in list_processes(data).items() if "docshare.server.office.jail" in line)
    os.kill(launcher, signal.SIGKILL)  # like the OOM killer
    thread.join()
    assert outcomes == [503]
    wait_until(lambda: not list_processes(data))


def test_a_failed_conversion_releases_its_slot(
    build: Build, fake_soffice: Callable[[str], Path], write_file: Put, part: PartialFile
) -> None:
    converter = build(fake_soffice("exit 0"), slots=1, max_waiting=0)
    source = write_file(office.make_docx(), "letter.docx")
    for _ in range(3):
        assert catch_problem(lambda: converter.convert(source, "docx", part)).status == 422


def test_a_caller_that_waits_too_long_for_a_slot_is_rejected(
    build: Build, fake_soffice: Callable[[str], Path], write_file: Put, part: PartialFile, tmp_path: Path, data: Path
) -> None:
    busy = build(
        fake_soffice("until [ -e go ]; do sleep 0.05; done; echo %PDF-1.7 > document.pdf"), slots=1, patience_s=0.2
    )
    source, other = write_file(office.make_docx(), "letter.docx"), PartialFile(tmp_path / "other.part")
    thread = threading.Thread(target=busy.convert, args=(source, "docx", part))
    thread.start()
    wait_until(lambda: list(data.glob("office-*/document.docx")))
    problem = catch_problem(lambda: busy.convert(source, "docx", other))
    assert (problem.status, problem.headers) == (503, {"Retry-After": "10"})
    next(data.glob("office-*/document.docx")).with_name("go").touch()
    thread.join()
    assert (part.size, other.size) == (9, 0)
    other.discard()


def test_a_caller_is_rejected_immediately_if_the_queue_is_full(
    build: Build, fake_soffice: Callable[[str], Path], write_file: Put, part: PartialFile, data: Path
) -> None:
    busy = build(fake_soffice("sleep 1000"), slots=1, max_waiting=0, patience_s=1000)
    source, outcomes = write_file(office.make_docx(), "letter.docx"), []
    thread = threading.Thread(
        target=lambda: outcomes.append(catch_problem(lambda: busy.convert(source, "docx", part)).detail)
    )
    thread.start()
    wait_until(lambda: list(data.glob("office-*/document.docx")))
    assert catch_problem(lambda: busy.convert(source, "docx", part)).status == 503
    busy.close()
    thread.join()
    assert outcomes == ["The server is stopping."]


def test_a_stop_aborts_running_and_waiting_conversions(
    build: Build, fake_soffice: Callable[[str], Path], write_file: Put, part: PartialFile, data: Path
) -> None:
    stopping = build(fake_soffice("sleep 1000"), slots=1, patience_s=1000)
    source, outcomes = write_file(office.make_docx(), "letter.docx"), []
    threads = [
        threading.Thread(
            target=lambda: outcomes.append(catch_problem(lambda: stopping.convert(source, "docx", part)).detail)
        )
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    wait_until(lambda: list(data.glob("office-*/document.docx")))
    stopping.close()
    for thread in threads:
        thread.join()
    assert outcomes == ["The server is stopping."] * 2
    assert list_processes(data) == {}
    assert catch_problem(lambda: stopping.convert(source, "docx", part)).detail == "The server is stopping."
