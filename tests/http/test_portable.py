"""Other WSGI servers: the same forms, the same responses, one copy into the store."""

import threading
from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer
from wsgiref.simple_server import make_server as make_wsgiref

import pytest
from flask import Flask, Response, jsonify, request
from waitress.server import create_server

from docshare.contract.problems import Problem
from docshare.server.http.listener import bind_sockets, make_server
from docshare.server.http.uploads import UploadRequest, read_form
from docshare.server.http.verdicts import Acceptance, Refusal
from docshare.server.store.blobs import FolderStore
from tests.http.harness import (
    BOUNDARY,
    MB,
    RawConnection,
    build_form,
    build_part,
    build_upload,
    content_type_header,
    describe_file,
    encode_chunks,
    sha256,
    wait_until,
)
from tests.http.harness import build_request as raw_request

CONTENT_TYPE = f"multipart/form-data; boundary={BOUNDARY}"
PDF = b"%PDF-1.7\n" + bytes(range(256)) * 2000
LIMIT = 2 * MB


@pytest.fixture
def blobs(tmp_path: Path) -> FolderStore:
    names = count()
    return FolderStore(tmp_path / "blobs", tmp_path / "tmp", lambda: f"name{next(names):016d}")


@pytest.fixture
def app(blobs: FolderStore) -> Flask:
    app = Flask("portable")
    app.request_class = UploadRequest
    app.extensions["docshare"] = SimpleNamespace(blobs=blobs)

    @app.post("/files")
    def files() -> Any:
        form = read_form(request, LIMIT)
        assert read_form(request, LIMIT) is form
        facts: dict[str, Any] = {"fields": form.fields, "files": {}}
        facts["files"] = {name: describe_file(file) for name, file in form.files.items()}
        facts["partials"] = len(list(blobs.tmp.iterdir()))
        if "keep" in request.args:
            facts["key"] = blobs.store(form.files["file"].part)
        if "fail" in request.args:
            raise Problem("conflict", "Something else is wrong.")
        return jsonify(facts)

    @app.errorhandler(Problem)
    def problem(problem: Problem) -> Any:
        return {"code": problem.code, "detail": problem.detail}, problem.status

    return app


Send = Callable[[bytes], dict[str, Any]]


def send_and_read_facts(raw: bytes, port: int) -> dict[str, Any]:
    with RawConnection(port) as wire:
        wire.send(raw)
        answer = wire.read_response()
        return {**answer.facts, "status": answer.status}


class QuietHandler(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Write no access log."""


def serve_by_wsgiref(app: Flask, blobs: FolderStore) -> Iterator[Send]:
    server: WSGIServer = make_wsgiref("127.0.0.1", 0, app, handler_class=QuietHandler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield lambda raw: send_and_read_facts(raw, server.server_port)
    server.shutdown()
    thread.join()
    server.server_close()


def serve_by_waitress(app: Flask, blobs: FolderStore) -> Iterator[Send]:
    server: Any = create_server(app, host="127.0.0.1", port=0, clear_untrusted_proxy_headers=True)
    running = True

    def run() -> None:
        while running:
            server.asyncore.loop(timeout=0.01, map=server._map, count=1)

    thread = threading.Thread(target=run)
    thread.start()
    yield lambda raw: send_and_read_facts(raw, server.effective_port)
    running = False
    thread.join()
    server.task_dispatcher.shutdown()
    for channel in list(server.active_channels.values()):
        channel.handle_close()
    server.close()


def serve_by_listener(app: Flask, blobs: FolderStore) -> Iterator[Send]:
    server = make_server(
        app,
        bind_sockets("127.0.0.1", 0),
        judge=lambda head: Acceptance(LIMIT + MB, stores_files=True),
        create_partial=blobs.create_partial,
        render_error=lambda status, path, detail: Refusal(status, body=detail.encode()),
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    yield lambda raw: send_and_read_facts(raw, server.port)
    server.stop()
    thread.join()


SERVERS = {"wsgiref": serve_by_wsgiref, "plain waitress": serve_by_waitress, "the bundled listener": serve_by_listener}


@pytest.fixture(params=SERVERS)
def send(request: pytest.FixtureRequest, app: Flask, blobs: FolderStore) -> Iterator[Send]:
    yield from SERVERS[request.param](app, blobs)


def test_every_server_passes_the_same_form_to_the_application(send: Send) -> None:
    body = build_form(
        build_part(b"lo\xc3\xa4go", 'form-data; name="kind"'),
        build_part(PDF, "form-data; name=\"file\"; filename*=UTF-8''%C3%A4.pdf", "Content-Type: application/pdf"),
    )
    assert send(build_upload(body)) == {
        "status": 200,
        "fields": {"kind": "loägo"},
        "files": {
            "file": {
                "filename": "ä.pdf",
                "contentType": "application/pdf",
                "size": len(PDF),
                "sha256": sha256(PDF),
                "head": PDF[:1024].decode("latin-1"),
            }
        },
        "partials": 1,
    }


def test_every_server_removes_partials_that_are_not_stored(send: Send, blobs: FolderStore) -> None:
    key = send(build_upload(build_form(build_part(PDF)), "/files?keep"))["key"]
    assert blobs.path(key).read_bytes() == PDF
    assert send(build_upload(build_form(build_part(PDF))))["status"] == 200
    assert send(build_upload(build_form(build_part(PDF)), "/files?fail"))["code"] == "conflict"
    assert wait_until(lambda: list(blobs.tmp.iterdir()) == [])


@pytest.mark.parametrize(
    ("raw", "detail"),
    [
        (raw_request("POST", "/files", b"hello", "Content-Type: text/plain"), "The body must be multipart/form-data."),
        (raw_request("POST", "/files"), "The body must be multipart/form-data."),
        (build_upload(build_form(build_part(PDF))[:-10]), "The form ends before its last boundary."),
        (build_upload(build_form(build_part(PDF), build_part(b""))), "Two parts of the form have the same name."),
        (raw_request("POST", "/files", b"", content_type_header()), "The form ends before its last boundary."),
    ],
)
def test_every_server_returns_the_same_error_for_an_invalid_form(
    send: Send, blobs: FolderStore, raw: bytes, detail: str
) -> None:
    assert send(raw) == {"status": 400, "code": "bad_request", "detail": detail}
    assert wait_until(lambda: list(blobs.tmp.iterdir()) == [])


def test_every_server_rejects_a_file_over_the_limit(send: Send, blobs: FolderStore) -> None:
    answer = send(build_upload(build_form(build_part(b"x" * (LIMIT + 1)))))
    assert (answer["status"], answer["code"]) == (413, "payload_too_large")
    assert wait_until(lambda: list(blobs.tmp.iterdir()) == [])
    assert send(build_upload(build_form(build_part(b"x" * LIMIT))))["files"]["file"]["size"] == LIMIT


@pytest.mark.parametrize("send", ["plain waitress", "the bundled listener"], indirect=True)
def test_servers_that_support_chunks_accept_a_chunked_upload(send: Send) -> None:
    raw = raw_request("POST", "/files", b"", content_type_header(), "Transfer-Encoding: chunked")
    assert send(raw + encode_chunks(build_form(build_part(PDF)), 3000))["files"]["file"]["sha256"] == sha256(PDF)
    assert send(raw + encode_chunks(build_form(build_part(b"x" * (LIMIT + 1))), 30_000))["status"] == 413


def post_form(app: Flask, body: Any, **environ: Any) -> Response:
    answer: Response = app.test_client().post("/files", input_stream=body, content_type=CONTENT_TYPE, **environ)
    return answer


def test_the_body_is_read_in_blocks(app: Flask, blobs: FolderStore) -> None:
    sizes: list[int] = []

    class Stream(BytesIO):
        def readinto(self, buffer: Any) -> int:
            sizes.append(len(buffer))
            return super().readinto(buffer)

        def read(self, size: int | None = -1) -> bytes:
            sizes.append(-1 if size is None else size)
            return super().read(size)

    body = build_form(build_part(PDF * 3))
    answer = post_form(app, Stream(body))
    assert answer.get_json()["files"]["file"]["sha256"] == sha256(PDF * 3)
    assert len(sizes) > len(body) // (256 * 1024)
    assert all(0 <= size <= 256 * 1024 for size in sizes)


@pytest.mark.parametrize("declared", [10, LIMIT * 4])
def test_a_wrong_content_length_does_not_bypass_the_limit(app: Flask, blobs: FolderStore, declared: int) -> None:
    body = build_form(build_part(b"x" * LIMIT * 2))
    assert post_form(app, BytesIO(body), environ_overrides={"CONTENT_LENGTH": str(declared)}).status_code in (400, 413)
    assert list(blobs.tmp.iterdir()) == []


def test_an_endless_body_is_cut_off(app: Flask, blobs: FolderStore) -> None:
    class Endless(BytesIO):
        given = 0

        def read(self, size: int | None = -1) -> bytes:
            Endless.given += size or 0
            return (
                build_part(b"", "form-data; name=unknown; filename=x")[:-2]
                if Endless.given == size
                else b"x" * (size or 0)
            )

    answer = post_form(app, Endless(), environ_overrides={"wsgi.input_terminated": True})
    assert (answer.status_code, answer.get_json()["code"]) == (413, "payload_too_large")
    assert Endless.given < LIMIT * 2
    assert list(blobs.tmp.iterdir()) == []


def test_many_files_together_do_not_bypass_the_limit(app: Flask, blobs: FolderStore) -> None:
    body = build_form(*(build_part(b"x" * MB, f"form-data; name=unknown{number}; filename=x") for number in range(4)))
    assert post_form(app, BytesIO(body), environ_overrides={"CONTENT_LENGTH": str(LIMIT * 4)}).status_code == 413
    endless = {"CONTENT_LENGTH": "", "wsgi.input_terminated": True}
    assert post_form(app, BytesIO(body), environ_overrides=endless).status_code == 413
    assert list(blobs.tmp.iterdir()) == []


def test_a_sender_who_disconnects_leaves_no_partial(app: Flask, blobs: FolderStore) -> None:
    body = build_form(build_part(PDF))
    answer = post_form(app, BytesIO(body[:5000]), environ_overrides={"CONTENT_LENGTH": str(len(body))})
    assert (answer.status_code, answer.get_json()["detail"]) == (400, "The body ended early.")
    assert list(blobs.tmp.iterdir()) == []


def test_a_full_disk_is_503(app: Flask, blobs: FolderStore) -> None:
    def raise_disk_full() -> Any:
        raise OSError(28, "No space left on device")

    app.extensions["docshare"] = SimpleNamespace(blobs=SimpleNamespace(create_partial=raise_disk_full))
    answer = post_form(app, BytesIO(build_form(build_part(PDF))))
    assert (answer.status_code, answer.get_json()["code"]) == (503, "unavailable")


def test_a_form_of_a_flask_client_is_parsed(app: Flask) -> None:
    sent = {"kind": "logo", "file": (BytesIO(PDF[:1000]), "Übersicht 1.pdf", "application/pdf")}
    answer = app.test_client().post("/files", data=sent, content_type="multipart/form-data")
    assert answer.get_json()["fields"] == {"kind": "logo"}
    assert answer.get_json()["files"]["file"]["filename"] == "Übersicht 1.pdf"
