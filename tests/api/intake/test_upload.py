"""Uploads through WSGI; uploads through the bundled listener are in test_early_verdict."""

import hashlib
import io
import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from werkzeug.test import TestResponse, run_wsgi_app

from docshare.contract.problems import Problem
from docshare.server.http import views
from docshare.server.pdf.engine import PdfEngine
from docshare.server.services.operations import sweeps
from docshare.server.store.blobs import FolderStore
from tests.support.documents.hostile_pdfs import slow_page
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.rows import count_rows, update_file_row
from tests.support.engines.stored_bytes import list_contents
from tests.support.people.cast import Person, World

MB = 1024 * 1024
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
LEGACY_DOC = OLE + b"\0" * 504 + b"\xec\xa5\xc1\x00"
POWERPOINT = OLE + b"\0" * 504 + b"\x00\x6e\x1e\xf0"
DOCX = b"PK\x03\x04" + b"\0" * 22 + b"\x11\x00\x00\x00word/document.xml"


def post_upload(person: Person, content: bytes, name: str = "report.pdf", **more: Any) -> TestResponse:
    return person.post("/api/v1/files", data={"file": (io.BytesIO(content), name)}, **more)


def upload_large(person: Person, content: bytes) -> TestResponse:
    """Upload without the form of the test client, which spools large bodies to a file that it does not close."""
    head = b'--edge\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n'
    body = head + content + b"\r\n--edge--\r\n"
    return person.post("/api/v1/files", data=body, content_type="multipart/form-data; boundary=edge")


def list_stored_contents(world: World) -> list[bytes]:
    """List the decrypted contents of the store, and unfinished uploads as they are."""
    return list_contents(world.rt)


class EndlessBody:
    """An endless body."""

    def __init__(self, head: bytes) -> None:
        self.sent = 0
        self._head = head

    def read(self, size: int = -1) -> bytes:
        block = (self._head if self.sent == 0 else b"\n" * size)[:size]
        self.sent += len(block)
        return block


def list_files_below(root: Any) -> list[Any]:
    return [path for path in root.rglob("*") if path.is_file()]


def insert_files(world: World, person: Person, total: int) -> None:
    """Upload a file for ``person`` and copy its row until there are ``total`` files."""
    made = person.upload()
    with world.rt.db.write():
        world.rt.db.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
            "INSERT INTO files (uuid, short_id, owner_id, original_name, size, mime_type, total_pages, page_sizes, "
            "sha256, blob, content_version, created_at, updated_at) "
            "SELECT uuid || i, short_id || i, owner_id, original_name, size, mime_type, total_pages, page_sizes, "
            "sha256, blob, 1, created_at, updated_at FROM files, n WHERE uuid = ?",
            (total - 1, made["uuid"]),
        )


def test_an_upload_returns_the_link(world: World) -> None:
    """The response also has a message."""
    answer = post_upload(world.pia, simple_pdf())
    assert answer.status_code == 200
    made = answer.get_json()
    assert list(made) == ["uuid", "shortId", "shareUrl", "message"]
    assert re.fullmatch("[0-9A-Za-z]{12}", made["shortId"])
    assert made["shareUrl"] == f"http://127.0.0.1:8787/{made['shortId']}"
    assert made["message"].isascii()


def test_a_pdf_is_stored_unchanged(world: World) -> None:
    """Bytes before and after the PDF are stored, too."""
    content = b"\xef\xbb\xbf junk before " + simple_pdf(pages=2) + b"\njunk behind"
    made = post_upload(world.pia, content).get_json()
    assert list_stored_contents(world) == [content]
    detail = world.pia.get(f"/api/v1/files/{made['uuid']}").get_json()
    assert detail["size"] == len(content)
    assert detail["sha256"] == hashlib.sha256(content).hexdigest()
    assert detail["totalPages"] == 2


@pytest.mark.parametrize(
    ("sent", "expected_name"),
    [
        ("report.pdf", "report.pdf"),
        ("Übersicht 日本.pdf", "Übersicht 日本.pdf"),
        ("C:\\Users\\ada\\report.pdf", "report.pdf"),
        ("../../etc/report.pdf", "report.pdf"),
        ("x" * 400 + ".pdf", "x" * 251 + ".pdf"),
        ("..", "document.pdf"),
    ],
)
def test_the_file_name_is_stored_without_its_path(world: World, sent: str, expected_name: str) -> None:
    made = post_upload(world.pia, simple_pdf(), sent).get_json()
    assert world.pia.get(f"/api/v1/files/{made['uuid']}").get_json()["originalName"] == expected_name


def test_other_parts_of_the_form_are_ignored(world: World) -> None:
    """Only the part ``file`` is used."""
    form = {"file": (io.BytesIO(simple_pdf()), "a.pdf"), "title": "x", "other": (io.BytesIO(b"y"), "b.bin")}
    assert world.pia.post("/api/v1/files", data=form).status_code == 200
    assert len(list_stored_contents(world)) == 1


def test_a_form_without_a_file_is_400(world: World) -> None:
    """A text field with the name ``file`` is not a file."""
    assert world.pia.post("/api/v1/files", data={"document": (io.BytesIO(simple_pdf()), "a.pdf")}).status_code == 400
    assert world.pia.post("/api/v1/files", data={"file": "text"}, content_type="multipart/form-data").status_code == 400
    assert list_stored_contents(world) == []


@pytest.mark.parametrize("name", ["report.pdf", "report.doc", "report.docx", "report.ppt"])
@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 400),
        (b"<html>hello</html>", 400),
        (b"x" * 1020 + b"%PDF-1.7", 400),
        (LEGACY_DOC, 400),
        (POWERPOINT, 422),
        (DOCX, 422),
        (b"%PDF-1.7 and nothing else", 422),
    ],
)
def test_the_content_decides_the_type_of_a_file(world: World, content: bytes, status: int, name: str) -> None:
    """The file name has no effect: a legacy .doc file is 400 under any name."""
    answer = post_upload(world.pia, content, name)
    assert answer.status_code == status
    assert list_stored_contents(world) == []
    assert count_rows(world, "files") == 0


def test_the_declared_media_type_is_ignored(world: World) -> None:
    form = {"file": (io.BytesIO(simple_pdf()), "photo.png", "image/png")}
    made = world.pia.post("/api/v1/files", data=form).get_json()
    assert world.pia.get(f"/api/v1/files/{made['uuid']}").get_json()["mimeType"] == "application/pdf"


def test_an_upload_of_exactly_the_limit_is_stored_and_one_more_byte_is_413(world: World) -> None:
    """Sizes are binary: 20 MB are 20 x 1024^2 bytes."""
    content = simple_pdf()
    exactly = content + b"\n" * (20 * MB - len(content))
    assert upload_large(world.fay, exactly + b"\n").status_code == 413
    assert list_stored_contents(world) == []
    assert upload_large(world.fay, exactly).status_code == 200
    assert upload_large(world.bea, exactly + b"\n").status_code == 200


def test_a_file_above_the_limit_is_413_without_a_content_length(world: World) -> None:
    """The rest of the body is not read."""
    head = b'--edge\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n%PDF-1.7'
    body = EndlessBody(head)
    environ = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/api/v1/files",
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "wsgi.url_scheme": "http",
        "wsgi.input": body,
        "wsgi.input_terminated": True,
        "wsgi.errors": io.StringIO(),
        "CONTENT_TYPE": "multipart/form-data; boundary=edge",
        "HTTP_AUTHORIZATION": world.fay.headers["Authorization"],
    }
    blocks, status, _ = run_wsgi_app(world.app, environ, buffered=True)
    assert status == "413 REQUEST ENTITY TOO LARGE"
    assert json.loads(b"".join(blocks))["code"] == "payload_too_large"
    assert body.sent < 52 * MB
    assert list_stored_contents(world) == []


def test_a_password_protected_pdf_is_422_with_a_hint(world: World) -> None:
    """The detail mentions the password."""
    import pikepdf

    source = pikepdf.open(io.BytesIO(simple_pdf()))
    locked = io.BytesIO()
    source.save(locked, encryption=pikepdf.Encryption(user="secret", owner="secret"))
    source.close()
    answer = post_upload(world.pia, locked.getvalue())
    assert answer.status_code == 422
    assert "password" in answer.get_json()["detail"]
    assert answer.get_json()["hint"]
    assert list_stored_contents(world) == []


def test_a_pdf_whose_first_page_cannot_be_rendered_is_422(world: World) -> None:
    answer = post_upload(
        world.pia, simple_pdf(1).replace(b"/Kids [", b"/Kids [99 0 R ").replace(b"/Count 1 ", b"/Count 2 ")
    )
    assert (answer.status_code, answer.get_json()["detail"]) == (422, "Page 1 of the PDF cannot be rendered.")
    assert list_stored_contents(world) == []


def test_a_pdf_whose_first_page_renders_slowly_is_stored_with_a_warning(world: World) -> None:
    with closing(PdfEngine(workers=1)) as engine:  # a new one, because the engine of the tests remembers slow documents
        views.attach_runtime(world.app, replace(world.rt, engine=engine))
        made = post_upload(world.pia, slow_page())
        assert made.status_code == 200
        assert made.get_json()["warning"].startswith("Page 1 takes more than 2 seconds to render.")
        assert "warning" not in post_upload(world.pia, simple_pdf()).get_json()
        content = {"file": (io.BytesIO(slow_page()), "again.pdf")}
        replaced = world.pia.post(f"/api/v1/files/{made.get_json()['uuid']}/content", data=content)
        assert replaced.get_json()["warning"] == made.get_json()["warning"]


def test_a_damaged_file_that_can_be_repaired_is_stored_unchanged(world: World) -> None:
    damaged = simple_pdf(2).replace(b" >>\nstartxref", b"\nstartxref")
    assert post_upload(world.pia, damaged).status_code == 200
    assert list_stored_contents(world) == [damaged]


def test_an_unavailable_engine_is_503_with_retry_after(world: World) -> None:
    class UnavailableEngine:
        def inspect(self, *arguments: Any) -> None:
            raise Problem("unavailable", "No worker.", headers={"Retry-After": "5"})

    views.attach_runtime(world.app, replace(world.rt, engine=UnavailableEngine()))  # type: ignore[arg-type]
    answer = post_upload(world.pia, simple_pdf())
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "5"
    assert list_stored_contents(world) == []


def test_a_nearly_full_disk_is_503_and_nothing_is_stored(world: World, monkeypatch: Any) -> None:
    """The server keeps 1 GB free."""
    monkeypatch.setattr(FolderStore, "free_bytes", lambda self: 1024 * MB - 1)
    answer = post_upload(world.pia, simple_pdf())
    assert answer.status_code == 503
    assert int(answer.headers["Retry-After"]) > 0
    assert list_stored_contents(world) == []


def test_the_file_limit_is_403_forbidden(world: World) -> None:
    """The limit on Free is 3 files; the code is not ``plan_required``."""
    assert [post_upload(world.fay, simple_pdf()).status_code for _ in range(4)] == [200, 200, 200, 403]
    refused = post_upload(world.fay, simple_pdf())
    assert refused.get_json()["code"] == "forbidden"
    assert "requires the" not in refused.get_json()["detail"]
    assert refused.headers["WWW-Authenticate"] == "Bearer"
    assert count_rows(world, "files") == 3


def test_basic_is_limited_to_100_files_and_pro_is_unlimited(world: World) -> None:
    """The 101st upload on Basic is 403."""
    insert_files(world, world.bea, 99)
    insert_files(world, world.pia, 150)
    assert [post_upload(world.bea, simple_pdf()).status_code for _ in range(2)] == [200, 403]
    assert post_upload(world.pia, simple_pdf()).status_code == 200


def test_burned_and_expired_files_count_against_the_limit_and_trashed_do_not(world: World) -> None:
    """Moving a file to the trash makes room for another one."""
    insert_files(world, world.bea, 100)
    burned, expired, trashed = [row["uuid"] for row in world.bea.get("/api/v1/files").get_json()[:3]]
    update_file_row(world, burned, burned_at=world.clock.now)
    update_file_row(world, expired, delete_at=world.clock.now - 1)
    assert post_upload(world.bea, simple_pdf()).status_code == 403
    update_file_row(world, trashed, trashed_at=world.clock.now, purge_at=world.clock.now + 1)
    assert post_upload(world.bea, simple_pdf()).status_code == 200


def test_concurrent_uploads_do_not_exceed_the_file_limit(world: World) -> None:
    """Exactly one upload gets the last free slot; the others are 403."""
    for _ in range(2):
        post_upload(world.fay, simple_pdf())
    together, turn = threading.Barrier(6), threading.Lock()

    class WaitingEngine:
        """Wait until all uploads have passed the first check and are inspected, one by one: the engine may reject
        uploads that wait behind a slow one."""

        def inspect(self, *arguments: Any) -> Any:
            with turn:
                found = world.rt.engine.inspect(*arguments)
            together.wait(60)
            return found

    views.attach_runtime(world.app, replace(world.rt, engine=WaitingEngine()))  # type: ignore[arg-type]

    def upload(_: int) -> int:
        form = {"file": (io.BytesIO(simple_pdf()), "a.pdf")}
        return world.app.test_client().post("/api/v1/files", data=form, headers=world.fay.headers).status_code

    with ThreadPoolExecutor(6) as pool:
        statuses = sorted(pool.map(upload, range(6)))
    assert statuses == [200, 403, 403, 403, 403, 403]
    assert count_rows(world, "files") == 3
    assert len(list_stored_contents(world)) == 3


def test_a_failed_transaction_deletes_the_stored_bytes(world: World) -> None:
    """No orphaned bytes remain when the row cannot be written."""

    def fail() -> str:
        raise RuntimeError("no more ids")

    views.attach_runtime(world.app, replace(world.rt, random_uuid=fail))
    assert post_upload(world.pia, simple_pdf()).status_code == 500
    assert list_stored_contents(world) == []
    assert count_rows(world, "files") == count_rows(world, "revisions") == 0


def test_a_short_id_that_is_taken_is_generated_again(world: World) -> None:
    """A short id must differ from slugs, too, because both have the same place in URLs."""
    taken = world.pia.upload()["shortId"]
    update_file_row(world, world.pia.upload()["uuid"], slug="abcdefghijkl")
    tokens = iter([taken, "abcdefghijkl", "ZYXWVUTSRQPO"])
    views.attach_runtime(
        world.app, replace(world.rt, random_token=lambda size: next(tokens) if size == 12 else "r" * size)
    )
    assert post_upload(world.pia, simple_pdf()).get_json()["shortId"] == "ZYXWVUTSRQPO"


def test_two_uploads_of_the_same_bytes_are_two_files(world: World) -> None:
    first, second = world.pia.upload(), world.pia.upload()
    world.pia.delete(f"/api/v1/files/{first['uuid']}?purge=1")
    assert world.pia.get(f"/api/v1/files/{second['uuid']}/content", buffered=True).data == simple_pdf(pages=3)


def test_a_purge_deletes_pages_even_if_the_bytes_cannot_be_deleted(world: World, monkeypatch: Any) -> None:
    made = world.pia.upload()
    folder = world.rt.config.data_dir / "cache" / made["uuid"]
    assert world.http.get(f"/{made['shortId']}/text/1.json?v=1", buffered=True).status_code == 200
    assert folder.is_dir()

    def fail(self: FolderStore, key: str) -> None:
        raise OSError("input/output error")

    monkeypatch.setattr(FolderStore, "delete", fail)
    world.pia.delete(f"/api/v1/files/{made['uuid']}?purge=1")
    assert not folder.exists()


def test_a_start_deletes_pages_without_a_file(world: World) -> None:
    made = world.pia.upload()
    world.http.get(f"/{made['shortId']}/text/1.json?v=1", buffered=True)
    cache = world.rt.config.data_dir / "cache"
    left = cache / world.rt.random_uuid() / "1"
    left.mkdir(parents=True)
    (left / "1.json").write_text("{}")
    sweeps.clean_at_start(world.rt)
    assert [path.name for path in cache.iterdir()] == [made["uuid"]]
