"""Fairness of conversions: which owner gets a slot, whose time is charged, and which documents are quarantined."""

import base64
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from docshare.server.office.convert import OfficeConverter
from docshare.server.pdf.budget import Tenant
from docshare.server.store.blobs import PartialFile
from tests.office.conftest import Put, catch_problem
from tests.office.test_uploads import upload_large, use_converter
from tests.support.documents import office
from tests.support.documents.pdfs import simple_pdf
from tests.support.people.cast import Person, World
from tests.support.polling import wait_until

Build = Callable[..., OfficeConverter]
FakeSoffice = Callable[[str], Path]

WRITE_PDF = f"echo {base64.b64encode(simple_pdf()).decode()} | base64 -d > document.pdf"
BURN_CPU = "(ulimit -t 1; while :; do :; done)"  # for a second
TOO_LONG = (422, "Converting the document takes too long.")


def make_marked_docx(mark: str) -> bytes:
    """Return a Word document in which a script can find ``mark``."""
    return office.make_zip(office.read_parts(office.make_docx()) | {"word/mark.bin": mark.encode()}, method=0)


@pytest.fixture
def convert(write_file: Put, tmp_path: Path) -> Callable[..., None]:
    """Return a function that converts a document of an owner, with its SHA-256 replaced by ``content``."""

    def run(converter: OfficeConverter, owner: str, content: str = "", mark: str = "") -> None:
        part = PartialFile(tmp_path / f"{time.monotonic_ns()}.part")
        try:
            source = write_file(make_marked_docx(mark), "letter.docx")
            converter.convert(source, "docx", part, tenant=Tenant(owner, content or owner))
        finally:
            part.discard()

    return run


def test_slow_documents_of_one_account_do_not_block_other_accounts(world: World, fake_soffice: FakeSoffice) -> None:
    converter = use_converter(world, fake_soffice(f"grep -q slow-mark document.docx && sleep 1000; {WRITE_PDF}"))

    def upload_slow(number: int) -> int:
        own = Person(world.mal.email, world.mal.uuid, world.mal.key, world.app.test_client())
        return upload_large(own, make_marked_docx(f"slow-mark {number}")).status_code

    with ThreadPoolExecutor(6) as pool:
        held = [pool.submit(upload_slow, number) for number in range(6)]
        wait_until(lambda: sum(future.done() for future in held) == 3)  # one is converted and two wait
        for _ in range(3):
            assert upload_large(world.pia, office.make_docx()).status_code == 200
        assert [future.result() for future in held if future.done()] == [503] * 3
        converter.close()
        assert [future.result() for future in held] == [503] * 6


def test_a_document_that_timed_out_is_rejected_immediately_for_ten_minutes(
    world: World, fake_soffice: FakeSoffice, soffice_starts: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another account gets the same problem, and no slot is used."""
    converter = use_converter(world, fake_soffice("sleep 1000"), slots=1, max_waiting=0, timeout_s=1.0)
    document = make_marked_docx("slow")
    assert converter.isolation_level
    first = upload_large(world.pia, document)
    assert (first.status_code, first.get_json()["detail"]) == TOO_LONG
    starts = len(soffice_starts)
    monkeypatch.setattr(converter, "_timeout_s", 1000.0)
    own = Person(world.mal.email, world.mal.uuid, world.mal.key, world.app.test_client())
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(upload_large, own, make_marked_docx("other"))
        wait_until(lambda: len(soffice_starts) == starts + 1)
        again = upload_large(world.bea, document)
        assert upload_large(world.bea, make_marked_docx("free")).status_code == 503
        converter.close()
        assert running.result().status_code == 503
    assert [again.get_json()[key] for key in ("status", "code", "detail", "hint")] == [
        first.get_json()[key] for key in ("status", "code", "detail", "hint")
    ]
    assert len(soffice_starts) == starts + 1
    passed = time.monotonic() + 601
    monkeypatch.setattr("docshare.server.pdf.admission.time.monotonic", lambda: passed)
    assert upload_large(world.bea, document).get_json()["detail"] == "The server is stopping."


def test_a_document_that_cannot_be_converted_is_tried_again(
    build: Build, fake_soffice: FakeSoffice, soffice_starts: list[list[str]], convert: Callable[..., None]
) -> None:
    """The disk of LibreOffice may have been full, so only documents that were stopped are quarantined."""
    converter = build(fake_soffice("exit 0"))
    assert converter.isolation_level
    for _ in range(2):
        assert catch_problem(lambda: convert(converter, "ann")).status == 422
    assert sum("--convert-to" in command for command in soffice_starts) == 2


@pytest.mark.parametrize("costly", [f"{BURN_CPU}; {WRITE_PDF}", "sleep 1000"], ids=["processor time", "stopped"])
def test_owners_over_budget_leave_slots_for_others(
    build: Build,
    fake_soffice: FakeSoffice,
    convert: Callable[..., None],
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
    costly: str,
) -> None:
    """Processor time is charged, and the run time of a conversion that was stopped."""
    monkeypatch.setattr("docshare.server.office.slots.OWNER_BUDGET_S", 0.7)
    script = f"grep -q costly document.docx && {{ {costly}; exit; }}; grep -q held document.docx && sleep 1000"
    converter = build(fake_soffice(f"{script}; sleep 1; {WRITE_PDF}"), patience_s=0.0)
    assert converter.isolation_level
    for owner in ("mal1", "mal2"):
        if costly == "sleep 1000":
            monkeypatch.setattr(converter, "_timeout_s", 1.0)
            assert catch_problem(lambda owner=owner: convert(converter, owner, owner, "costly")).status == 422
        else:
            convert(converter, owner, owner, "costly")
    monkeypatch.setattr(converter, "_timeout_s", 1000.0)
    convert(converter, "ann", "sleeps for longer than the budget without computing")
    thread = threading.Thread(target=lambda: catch_problem(lambda: convert(converter, "mal1", "next", "held")))
    thread.start()
    wait_until(lambda: list(data.glob("office-*/document.docx")))
    assert catch_problem(lambda: convert(converter, "mal2", "another")).status == 503
    convert(converter, "ann")
    converter.close()
    thread.join()
