"""Uploads through the listener: written once, directly into the store, whatever the sender does."""

import errno
import select
from collections.abc import Callable
from pathlib import Path

import pytest

from docshare.server.store.blobs import PartialFile
from tests.http.harness import (
    MB,
    ListenerHarness,
    RawConnection,
    build_form,
    build_part,
    build_request,
    build_upload,
    content_type_header,
    encode_chunks,
    sha256,
    wait_until,
)

PDF = b"%PDF-1.7\n" + bytes(range(256)) * 8


def send_half_upload(wire: RawConnection, content: bytes = b"x" * 500_000) -> None:
    raw = build_upload(build_form(build_part(content)))
    wire.send(raw[: len(raw) // 2])


def test_a_form_reaches_the_application_parsed(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(
            build_upload(
                build_form(
                    build_part(b"lo\xc3\xa4go", 'form-data; name="kind"'),
                    build_part(
                        PDF, 'form-data; name="file"; filename="r\xe9sum\xe9 1.pdf"', "Content-Type: application/pdf"
                    ),
                    build_part(b"", 'form-data; name="empty"'),
                ),
            )
        )
        facts = wire.read_response().facts
    assert facts["fields"] == {"kind": "loägo", "empty": ""}
    assert facts["files"] == {
        "file": {
            "filename": "résumé 1.pdf",
            "contentType": "application/pdf",
            "size": len(PDF),
            "sha256": sha256(PDF),
            "head": PDF[:1024].decode("latin-1"),
        }
    }
    assert facts["body"] == ""
    assert listener.environs[0]["CONTENT_LENGTH"] == "0"


def test_a_stored_file_leaves_nothing_in_the_temporary_directory(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_upload(build_form(build_part(PDF)), "/files?keep"))
        key = wire.read_response().facts["key"]
    assert listener.blobs.path(key).read_bytes() == PDF
    assert listener.blobs.path(key).stat().st_mode & 0o777 == 0o600
    assert wait_until(lambda: listener.list_partials() == [])
    assert listener.list_stored() == [listener.blobs.path(key)]


def test_a_file_that_is_not_stored_is_deleted_after_the_response(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_upload(build_form(build_part(PDF))))
        assert wire.read_response().status == 200
        assert wait_until(lambda: listener.list_partials() == [])
    assert listener.list_stored() == []


def test_the_file_is_removed_if_the_application_fails(start_listener: Callable[..., ListenerHarness]) -> None:
    rig = start_listener()
    rig.describe_request = lambda environ: 1 / 0  # type: ignore[method-assign, assignment]
    with RawConnection(rig.port) as wire:
        wire.send(build_upload(build_form(build_part(PDF))))
        assert wire.read_response().status == 500
    assert wait_until(lambda: rig.list_partials() == [])


def test_the_bytes_of_an_upload_are_written_once(start_listener: Callable[..., ListenerHarness]) -> None:
    rig = start_listener(max_file=64 * MB)
    content = b"0123456789abcdef" * (2 * MB)
    raw = build_upload(build_form(build_part(content)), "/files?keep")

    def count_written_bytes() -> int:
        return int(Path("/proc/self/io").read_text().split("wchar:")[1].split()[0])

    before = count_written_bytes()
    with RawConnection(rig.port) as wire:
        wire.send(raw)
        assert wire.read_response().facts["files"]["file"]["sha256"] == sha256(content)
    assert len(content) <= count_written_bytes() - before <= len(content) * 1.01


@pytest.mark.parametrize("size", [1, 5, 4096, 1_000_000])
def test_a_chunked_upload_arrives_intact(listener: ListenerHarness, size: int) -> None:
    content = PDF * (20 if size > 10 else 1)
    body = build_form(build_part(b"a", 'form-data; name="kind"'), build_part(content))
    with RawConnection(listener.port) as wire:
        wire.send(
            build_request("POST", "/files", b"", content_type_header(), "Transfer-Encoding: chunked")
            + encode_chunks(body, size)
        )
        assert wire.read_response().facts["files"]["file"]["sha256"] == sha256(content)
        wire.send(build_request("GET", "/x"))
        assert wire.read_response().status == 200


def test_a_file_of_exactly_the_maximum_size_is_accepted(start_listener: Callable[..., ListenerHarness]) -> None:
    rig = start_listener(max_file=100_000)
    with RawConnection(rig.port) as wire:
        wire.send(build_upload(build_form(build_part(b"x" * 100_000))))
        assert wire.read_response().facts["files"]["file"]["size"] == 100_000


@pytest.mark.parametrize("framing", ["declared", "chunked"])
def test_a_file_one_byte_too_large_is_413_and_leaves_no_partial(
    start_listener: Callable[..., ListenerHarness], framing: str
) -> None:
    rig = start_listener(max_file=100_000)
    body = build_form(build_part(b"x" * 100_001))
    chunked = build_request("POST", "/files", b"", content_type_header(), "Transfer-Encoding: chunked") + encode_chunks(
        body, 999
    )
    with RawConnection(rig.port) as wire:
        wire.send(build_upload(body) if framing == "declared" else chunked)
        answer = wire.read_response()
        assert (answer.status, answer.body) == (413, b"more than the plan allows")
    assert rig.calls == []
    assert wait_until(lambda: rig.list_partials() == [])


def test_a_file_that_is_too_large_is_413_before_the_body_is_complete(
    start_listener: Callable[..., ListenerHarness],
) -> None:
    rig = start_listener(max_file=100_000)
    with RawConnection(rig.port) as wire:
        wire.send(build_upload(build_form(build_part(b"x" * 1_000_000)))[:200_000])
        answer = wire.read_response()
        assert (answer.status, answer.headers["connection"]) == (413, "close")
        assert wire.read_to_end() == b""
    assert wait_until(lambda: rig.list_partials() == [])


def test_an_endless_chunked_body_is_cut_off(start_listener: Callable[..., ListenerHarness]) -> None:
    rig = start_listener(max_file=100_000)
    with RawConnection(rig.port) as wire:
        wire.send(build_request("POST", "/files", b"", content_type_header(), "Transfer-Encoding: chunked"))
        wire.send(encode_chunks(build_part(b"")[:-2], 4096)[:-5])
        assert wire.send_repeatedly(b"10000\r\n" + b"x" * 65536 + b"\r\n", 200 * MB) < 32 * MB
        assert wire.read_response().status == 413


def test_a_content_length_shorter_than_the_form_is_an_error_and_the_rest_is_not_a_request(
    listener: ListenerHarness,
) -> None:
    body = build_form(build_part(PDF))
    with RawConnection(listener.port) as wire:
        wire.send(
            build_request("POST", "/files", b"", content_type_header(), f"Content-Length: {len(body) - 20}") + body
        )
        assert wire.read_response().facts["form_error"] == "The form ends before its last boundary."
        assert wire.read_response().status == 400
        assert wire.read_to_end() == b""
    assert listener.calls == ["/files"]
    assert wait_until(lambda: listener.list_partials() == [])


def test_a_content_length_longer_than_the_form_leaves_no_partial(listener: ListenerHarness) -> None:
    body = build_form(build_part(PDF))
    with RawConnection(listener.port) as wire:
        wire.send(
            build_request("POST", "/files", b"", content_type_header(), f"Content-Length: {len(body) + 20}") + body
        )
        assert wait_until(lambda: len(listener.list_partials()) == 1)
    assert wait_until(lambda: listener.list_partials() == [])
    assert listener.calls == []


def test_a_sender_who_disconnects_leaves_no_partial(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        send_half_upload(wire)
        assert wait_until(lambda: len(listener.list_partials()) == 1)
    assert wait_until(lambda: listener.list_partials() == [])
    assert listener.calls == []


def test_a_silent_sender_is_cut_off_and_leaves_no_partial(start_listener: Callable[..., ListenerHarness]) -> None:
    rig = start_listener(idle_seconds=1)
    with RawConnection(rig.port) as wire:
        send_half_upload(wire)
        assert wire.read_to_end() == b""
    assert wait_until(lambda: rig.list_partials() == [])


def test_an_invalid_form_reaches_the_application_as_an_error(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_upload(build_form(build_part(PDF)).replace(b"form-data", b"attachment")))
        assert wire.read_response().facts["form_error"] == "A part has no name."
    assert "docshare.form" not in listener.environs[0]
    assert wait_until(lambda: listener.list_partials() == [])


def test_an_invalid_form_gets_a_response_before_the_body_is_complete(listener: ListenerHarness) -> None:
    body = build_form(build_part(PDF * 100)).replace(b"form-data", b"attachment")
    with RawConnection(listener.port) as wire:
        wire.send(build_upload(body)[:1000])
        assert wire.read_response().facts["form_error"] == "A part has no name."
        assert wire.read_to_end() == b""


@pytest.mark.parametrize(
    ("content_type", "error"),
    [
        ("Content-Type: application/pdf", "The body must be multipart/form-data."),
        ("Content-Type: multipart/form-data", "The Content-Type has no valid boundary."),
        ('Content-Type: multipart/form-data; boundary=""', "The Content-Type has no valid boundary."),
        (f"Content-Type: multipart/form-data; boundary={'x' * 129}", "The Content-Type has no valid boundary."),
        ("X-No: type", "The body must be multipart/form-data."),
    ],
)
def test_a_body_that_is_not_a_form_is_not_read(listener: ListenerHarness, content_type: str, error: str) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_request("POST", "/files", b"", content_type, "Content-Length: 5000000"))
        assert wire.read_response().facts["form_error"] == error
        assert wire.read_to_end() == b""


class FullDiskPart(PartialFile):
    """A partial file on a disk that is full after 100,000 bytes."""

    def write(self, block: bytes | memoryview) -> None:
        if self.size + len(block) > 100_000:
            raise OSError(errno.ENOSPC, "No space left on device")
        super().write(block)


@pytest.mark.parametrize("sent", [0.5, 1.0])
def test_a_full_disk_is_503_and_later_uploads_succeed(listener: ListenerHarness, sent: float) -> None:
    listener.create_partial = lambda: FullDiskPart(listener.blobs.tmp / "full.part")
    raw = build_upload(build_form(build_part(b"x" * 500_000)))
    with RawConnection(listener.port) as wire:
        wire.send(raw[: int(len(raw) * sent)])
        assert wire.read_response().status == 503
    assert listener.calls == []
    assert wait_until(lambda: listener.list_partials() == [])
    listener.create_partial = listener.blobs.create_partial
    with RawConnection(listener.port) as wire:
        wire.send(raw)
        assert wire.read_response().status == 200


def test_a_read_only_disk_is_503(listener: ListenerHarness) -> None:
    def fail() -> PartialFile:
        raise OSError(errno.EROFS, "Read-only file system")

    listener.create_partial = fail
    with RawConnection(listener.port) as wire:
        wire.send(build_upload(build_form(build_part(PDF))))
        assert wire.read_response().status == 503


def test_a_sender_faster_than_the_disk_does_not_block_other_requests(
    start_listener: Callable[..., ListenerHarness],
) -> None:
    rig = start_listener(max_file=64 * MB)

    class StuckDisk(PartialFile):
        def write(self, block: bytes | memoryview) -> None:
            rig.gate.wait(20)
            super().write(block)

    rig.create_partial = lambda: StuckDisk(rig.blobs.tmp / "stuck.part")
    content = b"x" * (64 * MB)
    raw = memoryview(build_upload(build_form(build_part(content))))
    with RawConnection(rig.port) as wire, RawConnection(rig.port) as other:
        sent = 0
        while sent < len(raw) and select.select([], [wire.socket], [], 0.5)[1]:
            sent += wire.socket.send(raw[sent : sent + 65536])
        # The kernel buffers hold the rest; the server has stopped reading.
        assert sent < 32 * MB
        other.send(build_request("GET", "/ping"))
        assert other.read_response().status == 200
        rig.gate.set()
        wire.send(bytes(raw[sent:]))
        assert wire.read_response().facts["files"]["file"]["sha256"] == sha256(content)
