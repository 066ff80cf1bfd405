"""Uploads of office documents over HTTP, which the server converts and stores as PDF."""

import hashlib
import io
import re
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import pikepdf
import pytest
from werkzeug.test import TestResponse

from docshare.client import Client
from docshare.server import runtime
from docshare.server.config import Config
from docshare.server.http import views
from docshare.server.office.convert import OfficeConverter
from tests.office.conftest import catch_problem
from tests.support.documents import office
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.stored_bytes import assert_reported_as_damaged, flip_last_bit, list_contents
from tests.support.people.cast import Person, World
from tests.support.servers.in_process_server import serve_world

MB = 1 << 20
BROKEN = office.make_zip({"word/document.xml": b"no document", "[Content_Types].xml": b"<x/>"})


def upload_office(person: Person, content: bytes, name: str = "letter.docx") -> TestResponse:
    return person.post("/api/v1/files", data={"file": (io.BytesIO(content), name)})


def upload_large(person: Person, content: bytes) -> TestResponse:
    """Upload with a prepared body, because the form of the test client leaves its temporary file open."""
    start = b'--edge\r\nContent-Disposition: form-data; name="file"; filename="letter.docx"\r\n\r\n'
    body = start + content + b"\r\n--edge--\r\n"
    return person.post("/api/v1/files", data=body, content_type="multipart/form-data; boundary=edge")


def list_remaining_files(world: World) -> list[Path]:
    """Return all files in the store and next to it."""
    return [path for root in (world.rt.blobs.root, world.rt.blobs.tmp) for path in root.rglob("*") if path.is_file()]


def make_heavy_docx(size: int) -> bytes:
    """Return a valid Word document of a little more than ``size`` bytes."""
    return office.make_zip(
        office.read_parts(office.make_docx()) | {"word/media/heavy.bin": b"\x07" * size}, zipfile.ZIP_STORED
    )


def use_converter(world: World, program: Path | None, **settings: Any) -> OfficeConverter:
    """Make ``world`` convert documents with ``program``."""
    converter = OfficeConverter(world.rt.blobs.tmp, program, **settings)
    views.attach_runtime(world.app, replace(world.rt, converter=converter))
    return converter


@pytest.fixture
def documents(legacy_documents: dict[str, bytes]) -> dict[str, bytes]:
    return {
        "docx": office.make_docx("Good news", pages=2),
        "pptx": office.make_pptx("Good news", pages=2),
        "ppt": legacy_documents["ppt"],
    }


@pytest.mark.parametrize(
    ("kind", "pages", "words"), [("docx", 2, "Goodnews"), ("pptx", 2, "Goodnews"), ("ppt", 1, "Oldslides")]
)
def test_an_office_document_is_stored_as_pdf(
    world: World, documents: dict[str, bytes], kind: str, pages: int, words: str
) -> None:
    """``size`` and ``mimeType`` describe the stored PDF; the original name is preserved."""
    with serve_world(world) as base, Client(base, world.pia.key) as client:
        uploaded = client.files.upload(io.BytesIO(documents[kind]), f"news.{kind}")
    stored = world.pia.get(f"/api/v1/files/{uploaded['uuid']}/content", buffered=True)
    assert stored.data.startswith(b"%PDF-")
    file = world.pia.get(f"/api/v1/files/{uploaded['uuid']}").get_json()
    assert (file["originalName"], file["mimeType"], file["totalPages"]) == (f"news.{kind}", "application/pdf", pages)
    assert (file["size"], file["sha256"]) == (len(stored.data), hashlib.sha256(stored.data).hexdigest())
    assert file["revisions"][0]["sha256"] == file["sha256"]
    text = world.http.get(f"/{uploaded['shortId']}/text/1.json?v=1", buffered=True).get_json()
    assert words in "".join("".join(box[4] for box in text["boxes"]).split())
    assert list_contents(world.rt) == [stored.data]


def test_a_linked_picture_is_removed_and_reported(world: World, tmp_path: Path) -> None:
    """LibreOffice does not even receive the URL of an external picture."""
    secret = tmp_path / "secret.png"
    secret.write_bytes(office.make_picture((33, 33)))
    linked = office.link_picture(office.make_docx("Good news"), secret.as_uri())
    with serve_world(world) as base, Client(base, world.pia.key) as client:
        uploaded = client.files.upload(io.BytesIO(linked), "news.docx")
        assert uploaded["leftOut"] == [secret.as_uri()]
        assert uploaded["message"] == "The file is shared. Linked pictures were left out: secret.png."
        again = client.files.replace(uploaded["uuid"], io.BytesIO(linked), "news.docx")
        assert again["leftOut"] == [secret.as_uri()]
    stored = world.pia.get(f"/api/v1/files/{uploaded['uuid']}/content", buffered=True).data
    assert secret.read_bytes() not in stored
    with pikepdf.open(io.BytesIO(stored)) as pdf:
        assert not [value for value in pdf.objects if isinstance(value, pikepdf.Stream) and "/Width" in value]


def test_the_content_determines_the_type_of_a_document(world: World, documents: dict[str, bytes]) -> None:
    uploaded = upload_office(world.pia, documents["docx"], "report.pdf").get_json()
    assert world.pia.get(f"/api/v1/files/{uploaded['uuid']}").get_json()["totalPages"] == 2
    uploaded = upload_office(world.pia, simple_pdf(pages=3), "report.docx").get_json()
    assert world.pia.get(f"/api/v1/files/{uploaded['uuid']}/content", buffered=True).data == simple_pdf(pages=3)


@pytest.mark.parametrize("name", ["letter.doc", "letter.docx", "letter.pdf", "letter.ppt"])
def test_a_legacy_word_document_is_400_under_any_name(
    world: World, legacy_documents: dict[str, bytes], soffice_starts: list[list[str]], name: str
) -> None:
    """A renamed .doc is rejected and a .ppt, which is OLE too, is accepted: the content decides."""
    answer = upload_office(world.pia, legacy_documents["doc"], name)
    assert (answer.status_code, answer.get_json()["code"]) == (400, "bad_request")
    assert ".doc" in answer.get_json()["detail"]
    assert (list_remaining_files(world), soffice_starts) == ([], [])


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (office.make_zip({"xl/workbook.xml": b"<x/>"}), 400),
        (office.make_ole_container("Workbook"), 400),
        (office.make_ole_container("EncryptedPackage"), 422),
        (office.change_parts(office.make_docx(), {"word/bomb.xml": "0" * (20 * MB)}), 422),
        (b"PK\x03\x04" + b"\0" * 100, 422),
    ],
    ids=["spreadsheet", "old spreadsheet", "locked", "bomb", "cut off"],
)
def test_bombs_and_other_files_are_rejected_before_libreoffice_starts(
    world: World, soffice_starts: list[list[str]], content: bytes, status: int
) -> None:
    assert upload_office(world.pia, content).status_code == status
    assert (list_remaining_files(world), soffice_starts) == ([], [])


def test_a_document_that_cannot_be_converted_is_422_and_leaves_no_file(world: World) -> None:
    """LibreOffice exits with 0 without a PDF, so only the resulting file counts."""
    answer = upload_office(world.pia, BROKEN)
    assert (answer.status_code, answer.get_json()["code"]) == (422, "unprocessable")
    assert list_remaining_files(world) == []


def test_a_word_document_above_25_mb_is_413_on_every_plan(world: World, soffice_starts: list[list[str]]) -> None:
    """The limit of 25 MB applies to the office document, not to the PDF."""
    for person in (world.fay, world.pia):
        answer = upload_large(person, make_heavy_docx(25 * MB))
        assert answer.status_code == 413
        assert "25 MB" in answer.get_json()["detail"]
    assert (list_remaining_files(world), soffice_starts) == ([], [])


def test_a_word_document_may_be_larger_than_the_pdfs_of_the_plan(world: World) -> None:
    """The Free plan accepts an office document of 24 MB, although it stores PDFs of at most 20 MB."""
    uploaded = upload_large(world.fay, make_heavy_docx(24 * MB))
    assert uploaded.status_code == 200, uploaded.get_data(as_text=True)
    assert world.fay.get(f"/api/v1/files/{uploaded.get_json()['uuid']}").get_json()["size"] < MB


def test_the_converted_pdf_must_fit_the_plan(world: World, fake_soffice: Callable[[str], Path]) -> None:
    """The limit of the plan applies to the converted PDF."""
    converter = use_converter(world, fake_soffice("(echo %PDF-1.7; head -c 20971520 /dev/zero) > document.pdf"))
    answer = upload_office(world.fay, office.make_docx())
    assert (answer.status_code, answer.get_json()["code"]) == (413, "payload_too_large")
    assert "20 MB" in answer.get_json()["detail"]
    assert list_remaining_files(world) == []
    converter.close()


def test_a_pdf_that_the_engine_cannot_open_is_422(world: World, fake_soffice: Callable[[str], Path]) -> None:
    converter = use_converter(world, fake_soffice("echo %PDF-1.7 > document.pdf"))
    assert upload_office(world.pia, office.make_docx()).status_code == 422
    assert list_remaining_files(world) == []
    converter.close()


def test_without_libreoffice_an_upload_is_503_with_the_package_in_the_hint(world: World) -> None:
    """Without LibreOffice, office documents get 503 with Retry-After; PDFs are still accepted."""
    use_converter(world, None)
    answer = upload_office(world.pia, office.make_docx())
    assert (answer.status_code, answer.get_json()["code"]) == (503, "unavailable")
    assert int(answer.headers["Retry-After"]) > 0
    assert re.search(r"\blibreoffice-writer-nogui\b.*\blibreoffice-impress-nogui\b", answer.get_json()["hint"])
    assert upload_large(world.pia, make_heavy_docx(25 * MB)).status_code == 413
    assert list_remaining_files(world) == []
    assert upload_office(world.pia, simple_pdf()).status_code == 200


def test_a_full_disk_in_the_middle_of_a_conversion_is_503(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = shutil.copyfileobj

    def copy_to_full_disk(source: IO[bytes], sink: IO[bytes], *size: int) -> None:
        if isinstance(sink.name, str):  # not a file in memory
            raise OSError(28, "No space left on device")
        copy(source, sink, *size)

    monkeypatch.setattr("shutil.copyfileobj", copy_to_full_disk)
    answer = upload_office(world.pia, office.make_docx())
    assert (answer.status_code, bool(answer.headers["Retry-After"])) == (503, True)
    assert list_remaining_files(world) == []


def test_an_upload_that_was_changed_before_its_conversion_is_not_reported_as_a_full_disk(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    convert = world.rt.converter.convert

    def change_and_convert(source: Any, *more: Any) -> list[str]:
        flip_last_bit(Path(source))
        return convert(source, *more)

    monkeypatch.setattr(world.rt.converter, "convert", change_and_convert)
    assert_reported_as_damaged(lambda: upload_office(world.pia, office.make_docx()), caplog)
    assert list_remaining_files(world) == []


def test_a_stopped_server_does_not_convert(tmp_path: Path) -> None:
    uploaded = runtime.build_runtime(Config(data_dir=tmp_path, base_url="http://127.0.0.1:8787"))
    uploaded.close()
    source = tmp_path / "letter.docx"
    source.write_bytes(office.make_docx())
    part = uploaded.blobs.create_partial()
    problem = catch_problem(lambda: uploaded.converter.convert(source, "docx", part))
    part.discard()
    assert (problem.status, problem.detail) == (503, "The server is stopping.")
