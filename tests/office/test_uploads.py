"""Office documents through the door: sent as an upload, stored as the PDF made of them."""

import hashlib
import io
import re
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pikepdf
import pytest
from werkzeug.test import TestResponse

from docshare.client import Client
from docshare.server import runtime
from docshare.server.config import Config
from docshare.server.http import views
from docshare.server.office.convert import OfficeConverter
from tests.office.conftest import catch_problem
from tests.support import office
from tests.support.cast import Person, World
from tests.support.in_process_server import serve_world
from tests.support.pdfs import simple_pdf

MB = 1 << 20
BROKEN = office.make_zip({"word/document.xml": b"no document", "[Content_Types].xml": b"<x/>"})


def upload_office(person: Person, content: bytes, name: str = "letter.docx") -> TestResponse:
    return person.post("/api/v1/files", data={"file": (io.BytesIO(content), name)})


def upload_large(person: Person, content: bytes) -> TestResponse:
    """As ``send``, past the test client's own form, which spools large bodies and leaves the spool open."""
    start = b'--edge\r\nContent-Disposition: form-data; name="file"; filename="letter.docx"\r\n\r\n'
    body = start + content + b"\r\n--edge--\r\n"
    return person.post("/api/v1/files", data=body, content_type="multipart/form-data; boundary=edge")


def list_remaining_files(world: World) -> list[Path]:
    """What lies in the store and beside it."""
    return [path for root in (world.rt.blobs.root, world.rt.blobs.tmp) for path in root.rglob("*") if path.is_file()]


def make_heavy_docx(size: int) -> bytes:
    """A sound Word document of a little more than ``size`` bytes."""
    return office.make_zip(
        office.read_parts(office.make_docx()) | {"word/media/heavy.bin": b"\x07" * size}, zipfile.ZIP_STORED
    )


def use_converter(world: World, program: Path | None) -> OfficeConverter:
    """Let ``world`` convert with ``program``."""
    converter = OfficeConverter(world.rt.blobs.tmp, program)
    views.attach_runtime(world.app, replace(world.rt, converter=converter))
    return converter


@pytest.fixture
def documents(old: dict[str, bytes]) -> dict[str, bytes]:
    return {
        "docx": office.make_docx("Good news", pages=2),
        "pptx": office.make_pptx("Good news", pages=2),
        "ppt": old["ppt"],
    }


@pytest.mark.parametrize(
    ("kind", "pages", "words"), [("docx", 2, "Goodnews"), ("pptx", 2, "Goodnews"), ("ppt", 1, "Oldslides")]
)
def test_an_office_document_is_shared_as_the_pdf_made_of_it(
    world: World, documents: dict[str, bytes], kind: str, pages: int, words: str
) -> None:
    """``size`` and ``mimeType`` describe the stored PDF; the name stays the one that was sent."""
    with serve_world(world) as base, Client(base, world.pia.key) as client:
        made = client.files.upload(io.BytesIO(documents[kind]), f"news.{kind}")
    stored = world.pia.get(f"/api/v1/files/{made['uuid']}/content", buffered=True)
    assert stored.data.startswith(b"%PDF-")
    file = world.pia.get(f"/api/v1/files/{made['uuid']}").get_json()
    assert (file["originalName"], file["mimeType"], file["totalPages"]) == (f"news.{kind}", "application/pdf", pages)
    assert (file["size"], file["sha256"]) == (len(stored.data), hashlib.sha256(stored.data).hexdigest())
    assert file["revisions"][0]["sha256"] == file["sha256"]
    text = world.http.get(f"/{made['shortId']}/text/1.json?v=1", buffered=True).get_json()
    assert words in "".join("".join(box[4] for box in text["boxes"]).split())
    assert [path.read_bytes() for path in list_remaining_files(world)] == [stored.data]


def test_a_linked_picture_is_left_out_and_the_sender_is_told(world: World, tmp_path: Path) -> None:
    """Of a picture elsewhere not even the address comes near LibreOffice."""
    secret = tmp_path / "secret.png"
    secret.write_bytes(office.make_picture((33, 33)))
    linked = office.link_picture(office.make_docx("Good news"), secret.as_uri())
    with serve_world(world) as base, Client(base, world.pia.key) as client:
        made = client.files.upload(io.BytesIO(linked), "news.docx")
        assert made["leftOut"] == [secret.as_uri()]
        assert made["message"] == "The file is shared. Linked pictures were left out: secret.png."
        again = client.files.replace(made["uuid"], io.BytesIO(linked), "news.docx")
        assert again["leftOut"] == [secret.as_uri()]
    stored = world.pia.get(f"/api/v1/files/{made['uuid']}/content", buffered=True).data
    assert secret.read_bytes() not in stored
    with pikepdf.open(io.BytesIO(stored)) as pdf:
        assert not [value for value in pdf.objects if isinstance(value, pikepdf.Stream) and "/Width" in value]


def test_what_a_document_is_is_decided_by_its_bytes(world: World, documents: dict[str, bytes]) -> None:
    made = upload_office(world.pia, documents["docx"], "report.pdf").get_json()
    assert world.pia.get(f"/api/v1/files/{made['uuid']}").get_json()["totalPages"] == 2
    made = upload_office(world.pia, simple_pdf(pages=3), "report.docx").get_json()
    assert world.pia.get(f"/api/v1/files/{made['uuid']}/content", buffered=True).data == simple_pdf(pages=3)


@pytest.mark.parametrize("name", ["letter.doc", "letter.docx", "letter.pdf", "letter.ppt"])
def test_an_old_word_document_is_400_whatever_it_is_called(
    world: World, old: dict[str, bytes], starts: list[list[str]], name: str
) -> None:
    """``.doc`` is 400 even when renamed; ``.ppt``, also OLE, is accepted: decide by content."""
    answer = upload_office(world.pia, old["doc"], name)
    assert (answer.status_code, answer.get_json()["code"]) == (400, "bad_request")
    assert ".doc" in answer.get_json()["detail"]
    assert (list_remaining_files(world), starts) == ([], [])


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
def test_what_is_no_document_or_a_bomb_is_refused_before_libreoffice_starts(
    world: World, starts: list[list[str]], content: bytes, status: int
) -> None:
    assert upload_office(world.pia, content).status_code == status
    assert (list_remaining_files(world), starts) == ([], [])


def test_a_document_that_cannot_be_read_is_422_and_leaves_nothing(world: World) -> None:
    """LibreOffice exits 0 without a PDF: success is judged by what comes out."""
    answer = upload_office(world.pia, BROKEN)
    assert (answer.status_code, answer.get_json()["code"]) == (422, "unprocessable")
    assert list_remaining_files(world) == []


def test_a_word_document_above_25_mb_is_413_on_every_plan(world: World, starts: list[list[str]]) -> None:
    """Caps apply to the Office input (25 MB)."""
    for person in (world.fay, world.pia):
        answer = upload_large(person, make_heavy_docx(25 * MB))
        assert answer.status_code == 413
        assert "25 MB" in answer.get_json()["detail"]
    assert (list_remaining_files(world), starts) == ([], [])


def test_a_word_document_may_be_larger_than_the_pdfs_of_the_plan(world: World) -> None:
    """An office file of 24 MB is taken on Free, which stores PDFs of 20 MB."""
    made = upload_large(world.fay, make_heavy_docx(24 * MB))
    assert made.status_code == 200, made.get_data(as_text=True)
    assert world.fay.get(f"/api/v1/files/{made.get_json()['uuid']}").get_json()["size"] < MB


def test_the_pdf_made_of_it_must_fit_the_plan(world: World, fake: Callable[[str], Path]) -> None:
    """The stored PDF must fit the plan cap, whatever the input was."""
    converter = use_converter(world, fake("(echo %PDF-1.7; head -c 20971520 /dev/zero) > document.pdf"))
    answer = upload_office(world.fay, office.make_docx())
    assert (answer.status_code, answer.get_json()["code"]) == (413, "payload_too_large")
    assert "20 MB" in answer.get_json()["detail"]
    assert list_remaining_files(world) == []
    converter.close()


def test_a_pdf_that_the_engine_cannot_open_is_422(world: World, fake: Callable[[str], Path]) -> None:
    converter = use_converter(world, fake("echo %PDF-1.7 > document.pdf"))
    assert upload_office(world.pia, office.make_docx()).status_code == 422
    assert list_remaining_files(world) == []
    converter.close()


def test_without_libreoffice_it_is_503_with_a_hint_that_names_the_package(world: World) -> None:
    """Conversion needs LibreOffice on the host; without it 503 with ``Retry-After``. PDFs are taken all the same."""
    use_converter(world, None)
    answer = upload_office(world.pia, office.make_docx())
    assert (answer.status_code, answer.get_json()["code"]) == (503, "unavailable")
    assert int(answer.headers["Retry-After"]) > 0
    assert re.search(r"\blibreoffice-writer-nogui\b.*\blibreoffice-impress-nogui\b", answer.get_json()["hint"])
    assert upload_large(world.pia, make_heavy_docx(25 * MB)).status_code == 413
    assert list_remaining_files(world) == []
    assert upload_office(world.pia, simple_pdf()).status_code == 200


def test_a_full_disk_in_the_middle_of_a_conversion_is_503(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copyfile", full)
    answer = upload_office(world.pia, office.make_docx())
    assert (answer.status_code, bool(answer.headers["Retry-After"])) == (503, True)
    assert list_remaining_files(world) == []


def test_a_server_that_has_stopped_converts_nothing_more(tmp_path: Path) -> None:
    made = runtime.build_runtime(Config(data_dir=tmp_path, base_url="http://127.0.0.1:8787"))
    made.close()
    source = tmp_path / "letter.docx"
    source.write_bytes(office.make_docx())
    part = made.blobs.part()
    problem = catch_problem(lambda: made.converter.convert(source, "docx", part))
    part.discard()
    assert (problem.status, problem.detail) == (503, "The server is stopping.")
