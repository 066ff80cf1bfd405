"""``docshare download``: all or nothing, and the file name of the server cannot choose the directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docshare.cli.commands.files import save
from docshare.cli.commands.files.save import sanitize_name
from tests.support.outside.fake_api import FakeApi, FakeResponse, problem
from tests.support.shell import Shell

ID = "aB3dE5fG7hJ9"
PDF = b"%PDF-1.7\n" + bytes(range(256)) * 4096


def offer_download(api: FakeApi, *, missing: int = 0, name: str = "deck.pdf", media: str = "application/pdf") -> None:
    headers = {
        "Content-Type": media,
        "Content-Disposition": f'attachment; filename="{name}"',
        "Content-Length": str(len(PDF) + missing),
    }
    api.on("GET", f"/files/{ID}/content", FakeResponse(PDF, 200, headers, connection_action="close"))


def list_names(place: Path) -> list[str]:
    return sorted(path.name for path in place.iterdir())


def test_the_file_name_is_that_of_the_server(api: FakeApi, shell: Shell, work_dir: Path) -> None:
    offer_download(api)
    assert shell("download", ID).out == "deck.pdf\n"
    assert (work_dir / "deck.pdf").read_bytes() == PDF


@pytest.mark.parametrize(
    ("name", "media", "saved"),
    [
        ("d.docx", "application/pdf", "d.docx.pdf"),
        ("d.docx", "Application/PDF; charset=binary", "d.docx.pdf"),
        ("D.PDF", "application/pdf", "D.PDF"),
        ("notes", "application/pdf", "notes.pdf"),
        ("d.docx", "application/octet-stream", "d.docx"),
        ("..", "application/pdf", "document.pdf"),
    ],
)
def test_a_converted_document_is_saved_with_the_extension_pdf(
    api: FakeApi, shell: Shell, work_dir: Path, name: str, media: str, saved: str
) -> None:
    offer_download(api, name=name, media=media)
    assert shell("download", ID).out == f"{saved}\n"
    assert list_names(work_dir) == [saved]


def test_an_explicit_output_path_is_used_unchanged(api: FakeApi, shell: Shell, work_dir: Path) -> None:
    offer_download(api, name="d.docx")
    assert shell("download", ID, "-o", "mine.bin").code == 0
    assert list_names(work_dir) == ["mine.bin"]


def test_an_existing_file_is_overwritten_only_with_force(api: FakeApi, shell: Shell, work_dir: Path) -> None:
    offer_download(api)
    (work_dir / "deck.pdf").write_text("mine")
    assert shell("download", ID).out == "deck (1).pdf\n"
    assert shell("download", ID).out == "deck (2).pdf\n"
    assert shell("download", ID, "-o", "deck.pdf").code == 2
    assert (work_dir / "deck.pdf").read_text() == "mine"
    assert shell("download", ID, "-o", "deck.pdf", "--force").code == 0
    assert (work_dir / "deck.pdf").read_bytes() == PDF


@pytest.fixture(params=[True, False], ids=["links", "no links"])
def hard_links(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the test on file systems with and without hard links."""

    def fail_to_link(*_: object) -> None:
        raise PermissionError("hard links are not supported")

    if not request.param:
        monkeypatch.setattr(os, "link", fail_to_link)


@pytest.mark.usefixtures("hard_links")
def test_a_file_created_during_the_download_is_kept(
    api: FakeApi, shell: Shell, work_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as by another download of a document with the same name."""
    offer_download(api)
    track = save.track_progress

    def create_and_track(*args: Any) -> Iterator[bytes]:
        (work_dir / "deck.pdf").write_text("mine")
        return track(*args)

    monkeypatch.setattr(save, "track_progress", create_and_track)
    assert shell("download", ID).out == "deck (1).pdf\n"
    assert (work_dir / "deck (1).pdf").read_bytes() == PDF
    (work_dir / "deck.pdf").unlink()
    done = shell("download", ID, "-o", "deck.pdf")
    assert (done.code, done.out) == (2, "")
    assert "deck.pdf already exists" in done.err
    assert (work_dir / "deck.pdf").read_text() == "mine"
    assert shell("download", ID, "-o", "deck.pdf", "--force").code == 0
    assert (work_dir / "deck.pdf").read_bytes() == PDF
    assert list_names(work_dir) == ["deck (1).pdf", "deck.pdf"]


def test_an_existing_output_path_is_rejected_before_any_request(api: FakeApi, shell: Shell, work_dir: Path) -> None:
    (work_dir / "x.pdf").write_text("mine")
    assert shell("download", ID, "-o", "x.pdf").code == 2
    assert api.requests == []


def test_an_empty_output_path_is_rejected_before_any_request(api: FakeApi, shell: Shell) -> None:
    assert shell("download", ID, "-o", "").code == 2
    assert api.requests == []


def test_a_directory_as_output_path_gets_the_file_under_its_name(api: FakeApi, shell: Shell, work_dir: Path) -> None:
    offer_download(api)
    (work_dir / "sub").mkdir()
    assert shell("download", ID, "-o", "sub").out == "sub/deck.pdf\n"


@pytest.mark.parametrize(
    ("offer", "name"),
    [
        ("../../etc/passwd", "passwd"),
        ("..\\..\\boot.ini", "boot.ini"),
        ("/abs/olute.pdf", "olute.pdf"),
        (".bashrc", "bashrc"),
        ("...", "document.pdf"),
        ("", "document.pdf"),
        ("a\x00b\nc\x1b[31m.pdf", "abc[31m.pdf"),
        ("x\u202efdp.exe", "xfdp.exe"),
        ("C:\\evil.pdf", "evil.pdf"),
        ("what?*<>|.pdf", "what.pdf"),
        ("trailing. ", "trailing"),
        ("ü" * 300 + ".pdf", "ü" * 98 + ".pdf"),
        ("日本語.pdf", "日本語.pdf"),
    ],
)
def test_a_file_name_of_the_server_is_sanitized(offer: str, name: str) -> None:
    assert sanitize_name(offer) == name


def test_an_existing_symlink_is_not_followed(api: FakeApi, shell: Shell, work_dir: Path) -> None:
    offer_download(api)
    (work_dir / "deck.pdf").symlink_to(work_dir / "elsewhere")
    assert shell("download", ID).out == "deck (1).pdf\n"
    assert not (work_dir / "elsewhere").exists()


def test_an_interrupted_download_leaves_no_file(api: FakeApi, shell: Shell, work_dir: Path) -> None:
    offer_download(api, missing=10)
    done = shell("download", ID, "--retries", "0", "--json")
    assert (done.code, done.out) == (11, "")
    assert list_names(work_dir) == []


@pytest.mark.parametrize("force", [False, True])
def test_an_interrupted_download_leaves_the_old_file(api: FakeApi, shell: Shell, work_dir: Path, force: bool) -> None:
    offer_download(api, missing=10)
    (work_dir / "deck.pdf").write_text("mine")
    shell("download", ID, "--retries", "0", *(["--force"] if force else []))
    assert list_names(work_dir) == ["deck.pdf"]
    assert (work_dir / "deck.pdf").read_text() == "mine"


def test_an_error_response_leaves_no_file(api: FakeApi, shell: Shell, work_dir: Path) -> None:
    api.on("GET", f"/files/{ID}/content", problem(410, "gone"))
    assert shell("download", ID).code == 8
    assert list_names(work_dir) == []


def test_an_output_path_that_cannot_be_written_is_named(api: FakeApi, shell: Shell, work_dir: Path) -> None:
    offer_download(api)
    done = shell("download", ID, "-o", "no/such/place.pdf")
    assert done.code == 2
    assert "no/such/place.pdf" in done.err


def test_a_pdf_is_not_printed_on_a_terminal(api: FakeApi, shell: Shell) -> None:
    shell.tty = True
    assert shell("download", ID, "-o", "-").code == 2
    assert api.requests == []


def test_json_contains_path_and_size(api: FakeApi, shell: Shell, work_dir: Path) -> None:
    offer_download(api)
    assert shell("download", ID, "--json").json == {"file": ID, "path": "deck.pdf", "size": len(PDF)}


@pytest.mark.parametrize("name", ["pipe", "link"])
@pytest.mark.parametrize("options", [[], ["--force"]], ids=["plain", "force"])
def test_a_pipe_is_written_and_not_replaced(
    api: FakeApi, shell: Shell, work_dir: Path, name: str, options: list[str]
) -> None:
    os.mkfifo(work_dir / "pipe")
    (work_dir / "link").symlink_to("pipe")
    pipe = os.open(work_dir / "pipe", os.O_RDWR | os.O_NONBLOCK)
    try:
        api.on("GET", f"/files/{ID}/content", FakeResponse(b"%PDF-1.7\n", 200, {"Content-Type": "application/pdf"}))
        assert shell("download", ID, "-o", name, *options).code == 0
        assert list_names(work_dir) == ["link", "pipe"]
        assert (work_dir / name).is_fifo()
        assert os.read(pipe, 100) == b"%PDF-1.7\n"
    finally:
        os.close(pipe)
