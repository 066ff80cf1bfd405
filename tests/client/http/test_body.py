"""The multipart body: known length, large blocks, constant memory, and rewinding for a retry."""

from __future__ import annotations

import hashlib
import io
from email import message_from_bytes
from pathlib import Path
from typing import Any

import pytest

from docshare.client.errors import LocalFileError
from docshare.client.http.body import MultipartFile


def join_body(body: MultipartFile) -> bytes:
    return b"".join(bytes(block) for block in body)


@pytest.mark.parametrize("size", [0, 1, 262_143, 262_144, 262_145, 1_000_000])
def test_the_declared_length_equals_the_length_sent(size: int) -> None:
    body = MultipartFile(io.BytesIO(bytes(size)), "a.pdf")
    assert len(body) == len(join_body(body))


def test_a_standard_parser_can_parse_the_body() -> None:
    body = MultipartFile(io.BytesIO(b"%PDF-\r\n--x"), 'a "b".pdf')
    mail = message_from_bytes(f"Content-Type: {body.content_type}\r\n\r\n".encode() + join_body(body))
    (file,) = mail.get_payload()
    assert file.get_param("name", header="Content-Disposition") == "file"
    assert file.get_filename() == "a %22b%22.pdf"
    assert file.get_payload(decode=True) == b"%PDF-\r\n--x"


@pytest.mark.parametrize("name", ["a\nb.pdf", "a\r\nX: y.pdf", "a\rb.pdf", "a\x1b[2J.pdf", "\0.pdf", "a\x7f.pdf"])
def test_a_name_that_would_arrive_as_another_one_is_refused(name: str) -> None:
    with pytest.raises(LocalFileError, match="control characters"):
        MultipartFile(io.BytesIO(b""), name)


@pytest.mark.parametrize(
    ("name", "media_type"),
    [("a.PDF", "application/pdf"), ("a.ppt", "application/vnd.ms-powerpoint"), ("a", "application/octet-stream"),
     ("a.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document")],
)  # fmt: skip
def test_the_part_names_its_media_type(name: str, media_type: str) -> None:
    assert f"\r\nContent-Type: {media_type}\r\n\r\n".encode() in join_body(MultipartFile(io.BytesIO(b""), name))


@pytest.mark.parametrize(
    ("name", "shown"),
    [("Übersicht.pdf", "Übersicht.pdf"), ('a"; x="y.pdf', "a%22; x=%22y.pdf"), ("bad\udcff.pdf", "bad\ufffd.pdf")],
)
def test_a_file_name_cannot_break_out_of_its_header(name: str, shown: str) -> None:
    head = join_body(MultipartFile(io.BytesIO(b""), name)).decode()
    assert f'filename="{shown}"\r\n' in head


def test_the_body_is_streamed_in_blocks_and_has_no_read_method() -> None:
    body = MultipartFile(io.BytesIO(bytes(600_000)), "a.pdf")
    assert not hasattr(body, "read")
    assert [len(block) for block in body][1:-1] == [262_144, 262_144, 75_712]


def test_each_iteration_starts_over_and_reports_progress_from_zero() -> None:
    progress_calls: list[int] = []
    body = MultipartFile(io.BytesIO(bytes(300_000)), "a.pdf", progress=progress_calls.append, digest=True)
    first, digest = join_body(body), body.sha256()
    assert join_body(body) == first
    assert progress_calls == [0, 262_144, 300_000] * 2
    assert body.sha256() == digest == hashlib.sha256(bytes(300_000)).hexdigest()


def test_the_digest_is_known_only_after_the_last_byte() -> None:
    body = MultipartFile(io.BytesIO(bytes(300_000)), "a.pdf", digest=True)
    blocks = iter(body)
    assert body.sha256() is None
    next(blocks), next(blocks)
    assert (body.started, body.exhausted, body.sha256()) == (True, False, None)
    list(blocks)
    assert body.exhausted
    assert MultipartFile(io.BytesIO(b""), "a").sha256() is None


@pytest.mark.parametrize(("after", "word"), [(b"x" * 10, "shorter"), (b"x" * 1000, "longer")])
def test_a_file_whose_size_changes_during_the_upload_raises_a_local_file_error(
    tmp_path: Path, after: bytes, word: str
) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(b"x" * 500)
    with path.open("rb", buffering=0) as file:
        body = MultipartFile(file, "a.pdf")
        path.write_bytes(after)
        with pytest.raises(LocalFileError, match=word):
            join_body(body)
    assert not body.exhausted


def test_a_disk_read_error_raises_a_local_file_error() -> None:
    class Broken(io.BytesIO):
        def readinto(self, buffer: Any) -> int:
            raise OSError(5, "Input/output error")

    with pytest.raises(LocalFileError, match="Input/output error"):
        join_body(MultipartFile(Broken(b"abc"), "a.pdf"))
