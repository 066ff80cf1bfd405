"""``docshare upload``: output, local checks, and failures."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands.fakes.uploads import PDF, FakeUploads, share_url
from tests.support.outside.fake_api import UUID, FakeApi, FakeResponse, FakeTime, problem
from tests.support.shell import Shell

# --- one file --------------------------------------------------------------------------------------------------------


def test_a_pipe_gets_only_the_link(api: FakeApi, fake_uploads: FakeUploads, shell: Shell, deck: Path) -> None:
    done = shell("upload", deck)
    assert (done.code, done.out, done.err) == (0, f"{share_url(1)}\n", "")
    assert fake_uploads.uploads == [("deck.pdf", PDF)]


def test_a_terminal_shows_the_link_in_bold_and_a_line_of_details(
    fake_uploads: FakeUploads, shell: Shell, deck: Path
) -> None:
    shell.tty = True
    done = shell("upload", deck)
    assert done.lines == [
        f"\x1b[1m{share_url(1)}\x1b[0m",
        "\x1b[2mdeck.pdf · 1 kB · aB3dE5fG7h01 · never expires · no password\x1b[0m",
    ]
    assert shell("upload", deck, "-q", "--no-color").out == f"{share_url(2)}\n"


def test_json_is_the_result_with_path_size_and_digest(fake_uploads: FakeUploads, shell: Shell, deck: Path) -> None:
    assert shell("upload", deck, "--json").json == {
        "uuid": UUID.format(1), "shortId": "aB3dE5fG7h01", "shareUrl": share_url(1), "message": "Stored.",
        "path": str(deck), "size": len(PDF), "sha256": hashlib.sha256(PDF).hexdigest(),
    }  # fmt: skip


@pytest.mark.parametrize(("word", "printed"), [("url", share_url(1)), ("id", "aB3dE5fG7h01"), ("uuid", UUID.format(1))])
def test_print_selects_the_value_for_a_pipe(
    fake_uploads: FakeUploads, shell: Shell, deck: Path, word: str, printed: str
) -> None:
    assert shell("upload", deck, "--print", word).out == printed + "\n"


def test_plain_output_contains_path_link_and_status(fake_uploads: FakeUploads, shell: Shell, deck: Path) -> None:
    assert shell("upload", deck, "--format", "plain").out == f"{deck}\t{share_url(1)}\tuploaded\n"


def test_fields_query_and_template_apply_to_the_result(fake_uploads: FakeUploads, shell: Shell, deck: Path) -> None:
    assert shell("upload", deck, "--fields", "uuid,size").out == f"{UUID.format(1)}\t{len(PDF)}\n"
    assert shell("upload", deck, "--query", "shortId").out == '"aB3dE5fG7h02"\n'
    assert shell("upload", deck, "--template", "{shareUrl}?x").out == f"{share_url(3)}?x\n"
    assert shell("upload", deck, "--format", "ids").out == "aB3dE5fG7h04\n"


def test_name_sets_the_file_name_that_readers_see(fake_uploads: FakeUploads, shell: Shell, deck: Path) -> None:
    assert shell("upload", deck, "--name", "Offer 2026.pdf").code == 0
    assert fake_uploads.uploads[0][0] == "Offer 2026.pdf"


def test_last_is_the_uploaded_file(api: FakeApi, fake_uploads: FakeUploads, shell: Shell, deck: Path) -> None:
    shell("upload", deck)
    api.on("GET", f"/files/{UUID.format(1)}", {"uuid": UUID.format(1), "originalName": "deck.pdf"})
    assert shell("show", "@last", "--fields", "originalName").out == "deck.pdf\n"


def test_stdin_is_sent_under_the_given_name(fake_uploads: FakeUploads, shell: Shell) -> None:
    done = shell("upload", "-", "--name", "report.pdf", stdin=PDF)
    assert (done.code, done.out) == (0, f"{share_url(1)}\n")
    assert fake_uploads.uploads == [("report.pdf", PDF)]


def test_stdin_is_sent_again_after_a_503_response(api: FakeApi, fake_uploads: FakeUploads, shell: Shell) -> None:
    api.on("POST", "/files", problem(503, "unavailable"), fake_uploads.receive)
    assert shell("upload", "-", "--name", "report.pdf", stdin=PDF).code == 0
    assert [heard.part() for heard in api.list_requests("POST", "/files")] == [("report.pdf", PDF)] * 2


def test_stdin_of_a_real_pipe_is_sent(fake_uploads: FakeUploads, shell: Shell) -> None:
    command = [sys.executable, "-m", "docshare", "upload", "-", "--name", "a.pdf"]
    done = subprocess.run(command, input=PDF * 3000, capture_output=True, env=shell.env, check=True)
    assert done.stdout.decode() == f"{share_url(1)}\n"
    assert fake_uploads.uploads == [("a.pdf", PDF * 3000)]


def test_a_hostile_file_name_is_rejected_and_escaped(fake_uploads: FakeUploads, shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / 'a\x1b]0;x\x07"\r\n.pdf'
    path.write_bytes(PDF)
    shell.tty = True
    done = shell("upload", path, "--no-color")
    assert done.code == 2
    assert "would be stored as" in done.err
    assert "\x1b]0" not in done.out + done.err
    assert fake_uploads.uploads == []


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ('a"b\\c.pdf', "'c.pdf'"),
        (" around .pdf ", "'around .pdf'"),
        ("rlo\u202efdp.exe.pdf", "'rlofdp.exe.pdf'"),
        ("not-utf-8\udcff.pdf", "'not-utf-8.pdf'"),
    ],
)
def test_a_name_that_the_server_would_change_is_rejected(
    fake_uploads: FakeUploads, shell: Shell, tmp_path: Path, name: str, stored: str
) -> None:
    path = tmp_path / name
    path.write_bytes(PDF)
    done = shell("upload", path)
    assert (done.code, f"would be stored as {stored}" in done.err) == (2, True), done.err
    assert "--name" in done.err
    assert shell("upload", path, "--name", "plain.pdf").code == 0
    assert [sent for sent, _ in fake_uploads.uploads] == ["plain.pdf"]


# --- local checks ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("content", "name", "word"), [
    (b"", "a.pdf", "is empty"),
    (b"hello", "a.pdf", "is not a PDF"),
    (b"PK\x03\x04" + bytes(100), "a.xlsx", "is not a PDF"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "a.doc", "is a legacy .doc file"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504) + b"\xec\xa5", "a.ppt", "is a legacy .doc file"),
])  # fmt: skip
def test_a_document_that_the_server_would_reject_is_not_sent(
    api: FakeApi, shell: Shell, tmp_path: Path, content: bytes, name: str, word: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    done = shell("upload", path, "--json")
    assert (done.code, done.out) == (2, "")
    assert word in done.error["detail"]
    assert api.requests == []


@pytest.mark.parametrize(("head", "name", "size", "word"), [
    (b"PK\x03\x04" + bytes(22) + b"\x11\x00\x00\x00word/document.xml", "a.docx", 25 * 2**20 + 1, "is 25 MB"),
    (b"PK\x03\x04" + bytes(22) + b"\x14\x00\x00\x00ppt/presentation.xml", "a.pptx", 50 * 2**20 + 1, "is 50 MB"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "a.ppt", 50 * 2**20 + 1, "is 50 MB"),
    (b"%PDF-", "a.pdf", 2 * 2**30 + 1, "the limit for .pdf is 2 GB"),
])  # fmt: skip
def test_a_file_above_the_limit_of_every_plan_is_not_sent(
    api: FakeApi, shell: Shell, tmp_path: Path, head: bytes, name: str, size: int, word: str
) -> None:
    path = tmp_path / name
    write_sparse_file(path, head, size)
    done = shell("upload", path, "--json")
    assert (done.code, api.requests) == (2, [])
    assert word in done.error["detail"]


@pytest.mark.parametrize(("account", "word"), [
    ({"tier": "free"}, "the free plan allows up to 20 MB"),
    ({"subscription": "free"}, "the free plan allows up to 20 MB"),
    ({"tier": "basic", "limits": {"maxUploadBytes": 21 * 2**20}}, "the basic plan allows up to 21 MB"),
])  # fmt: skip
def test_a_pdf_above_the_limit_of_the_plan_is_not_sent(
    api: FakeApi, shell: Shell, tmp_path: Path, account: dict[str, Any], word: str
) -> None:
    api.on("GET", "/user", account)
    path = tmp_path / "a.pdf"
    write_sparse_file(path, b"%PDF-", 22 * 2**20)
    done = shell("upload", path, "--json")
    assert done.code == 2
    assert word in done.error["detail"]
    assert api.list_requests("POST", "/files") == []


@pytest.mark.parametrize("account", [{"tier": "pro"}, problem(403, "insufficient_scope")])
def test_the_server_decides_if_the_limit_of_the_plan_is_unknown(
    api: FakeApi, fake_uploads: FakeUploads, shell: Shell, tmp_path: Path, account: Any
) -> None:
    api.on("GET", "/user", account)
    path = tmp_path / "a.pdf"
    write_sparse_file(path, b"%PDF-", 22 * 2**20)
    assert shell("upload", path).code == 0


def test_no_check_leaves_the_decision_to_the_server(
    api: FakeApi, fake_uploads: FakeUploads, shell: Shell, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"hello")
    assert shell("upload", path, "--no-check").code == 0
    assert [heard.path for heard in api.requests] == ["/user", "/files"]  # the first is for @last


@pytest.mark.parametrize("words", [
    (), ("-",), ("-", "deck.pdf", "--name", "x"), ("deck.pdf", "other.pdf", "--name", "x"), ("deck.pdf", "deck.pdf"),
    ("deck.pdf", "./deck.pdf"), ("deck.pdf", "link.pdf"), ("missing.pdf",), ("folder",), ("deck.pdf", "--jobs", "5"),
    ("deck.pdf", "--print", "link"), ("deck.pdf", "other.pdf", "--open"), ("-r", "folder", "--qr"), ("-r", "folder"),
    ("deck.pdf", "-0"), ("deck.pdf", "--include", "*.pdf"), ("--files-from", "missing"), ("fifo",),
    ("deck.pdf", "--manifest", "folder"), ("--files-from", "ended-by-nul"),
])  # fmt: skip
def test_an_invalid_command_line_exits_with_2_before_any_request(
    api: FakeApi, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    import os

    monkeypatch.chdir(tmp_path)
    Path("ended-by-nul").write_bytes(b"deck.pdf\0other.pdf\0")
    for name in ("deck.pdf", "other.pdf"):
        Path(name).write_bytes(PDF)
    Path("folder").mkdir()
    Path("link.pdf").symlink_to("deck.pdf")
    os.mkfifo("fifo")
    done = shell("upload", *words)
    assert (done.code, done.out) == (2, "")
    assert api.requests == []


# --- error responses -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("answer", "code"), [
    (problem(400, "bad_request"), 9), (problem(401, "unauthorized"), 4), (problem(403, "forbidden"), 5),
    (problem(403, "insufficient_scope"), 5), (problem(413, "payload_too_large"), 9), (problem(422, "unprocessable"), 9),
    (problem(429, "rate_limited", Retry_After="900"), 10), (problem(503, "unavailable", Retry_After="900"), 11),
    (problem(500, "internal"), 11), (FakeResponse(b"", 307, {"Location": "/x"}), 11),
])  # fmt: skip
def test_an_error_response_has_its_exit_code_and_an_empty_stdout(
    api: FakeApi, shell: Shell, deck: Path, answer: FakeResponse, code: int
) -> None:
    api.on("POST", "/files", answer)
    done = shell("upload", deck, "--json")
    assert (done.code, done.out) == (code, "")
    assert (done.error["exit"], done.error["method"], done.error["path"]) == (code, "POST", "/api/v1/files")


@pytest.mark.parametrize("account", [{"limits": {"maxActiveFiles": 3, "activeFiles": 3}}, {"tier": "free"}])
def test_the_file_limit_of_the_plan_exits_with_6(
    api: FakeApi, shell: Shell, deck: Path, account: dict[str, Any]
) -> None:
    api.on("POST", "/files", problem(403, "forbidden", "The plan allows 3 files."))
    api.on("GET", "/user", account)
    api.files = [{"uuid": UUID.format(n)} for n in range(3)]
    done = shell("upload", deck, "--json")
    assert (done.code, done.error["code"], done.error["status"]) == (6, "forbidden", 403)
    api.files.pop()
    assert shell("upload", deck).code == 5


def test_an_upload_whose_response_is_lost_is_found_in_the_list(
    api: FakeApi, shell: Shell, deck: Path, time: FakeTime
) -> None:
    api.on("POST", "/files", FakeResponse(connection_action="drop"))
    digest = hashlib.sha256(PDF).hexdigest()
    api.files = [{"uuid": UUID.format(7), "shortId": "aB3dE5fG7h07", "shareUrl": share_url(7),
    "originalName": "deck.pdf",
                  "size": len(PDF), "sha256": digest, "createdAt": "2026-09-21T14:13:20.000Z"}]  # fmt: skip
    done = shell("upload", deck, "--json")
    assert done.code == 0
    assert done.json == {
        "uuid": UUID.format(7), "shortId": "aB3dE5fG7h07", "shareUrl": share_url(7), "recovered": True,
        "message": "The file was uploaded; the response was lost.",
        "path": str(deck), "size": len(PDF), "sha256": digest,
    }  # fmt: skip
    assert "was uploaded" in done.err


def test_an_unknown_outcome_exits_with_14_and_lists_the_candidates(api: FakeApi, shell: Shell, deck: Path) -> None:
    api.on("POST", "/files", FakeResponse(connection_action="drop"))
    api.files = [{"uuid": UUID.format(n), "originalName": "deck.pdf", "size": len(PDF),
                  "createdAt": "2026-09-21T14:13:20.000Z"} for n in (1, 2)]  # fmt: skip
    done = shell("upload", deck, "--json")
    assert (done.code, done.out) == (14, "")
    assert [each["uuid"] for each in done.error["candidates"]] == [UUID.format(1), UUID.format(2)]


# --- progress, QR code, copy and open --------------------------------------------------------------------------------


def test_a_terminal_shows_a_progress_bar_and_clears_it(fake_uploads: FakeUploads, shell: Shell, deck: Path) -> None:
    shell.tty = True
    done = shell("upload", deck)
    assert "processing on server" in done.err
    assert done.err.endswith("\r\x1b[K")


def test_json_progress_counts_bytes(api: FakeApi, fake_uploads: FakeUploads, shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(PDF)
    done = shell("upload", path, "--progress", "json")
    assert json.loads(done.err.splitlines()[-1]) == {
        "progress": {"label": "a.pdf", "done": len(PDF), "total": len(PDF), "stage": "processing on server"}
    }


def test_the_qr_code_is_drawn_below_the_link(fake_uploads: FakeUploads, shell: Shell, deck: Path) -> None:
    shell.tty = True
    done = shell("upload", deck, "--qr", "--no-color")
    assert done.lines[0] == share_url(1)
    assert sum("█" in line for line in done.lines) > 10


def test_the_qr_code_is_not_drawn_in_a_pipe(fake_uploads: FakeUploads, shell: Shell, deck: Path) -> None:
    done = shell("upload", deck, "--qr")
    assert done.out == f"{share_url(1)}\n"
    assert "warning: --qr draws on a terminal only" in done.err


def test_the_terminal_copies_the_link_if_there_is_no_clipboard_program(
    fake_uploads: FakeUploads, shell: Shell, deck: Path
) -> None:
    shell.tty = True
    import base64

    copied = base64.b64encode(share_url(1).encode()).decode()
    assert f"\x1b]52;c;{copied}\x07" in shell("upload", deck, "--copy").err


def test_the_clipboard_program_of_the_desktop_copies_the_link(
    fake_uploads: FakeUploads, shell: Shell, deck: Path, tmp_path: Path
) -> None:
    program = tmp_path / "bin" / "wl-copy"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ncat > {tmp_path}/copied\n")
    program.chmod(0o755)
    env = {"WAYLAND_DISPLAY": "wayland-0", "PATH": str(program.parent)}
    assert shell("upload", deck, "--copy", env=env).err == ""
    assert (tmp_path / "copied").read_text() == share_url(1)


def test_a_link_that_cannot_be_copied_causes_a_warning(fake_uploads: FakeUploads, shell: Shell, deck: Path) -> None:
    done = shell("upload", deck, "--copy", env={"PATH": "/nowhere"})
    assert (done.code, done.out) == (0, f"{share_url(1)}\n")
    assert "warning: cannot copy the link" in done.err


def test_open_opens_the_link_in_a_browser(fake_uploads: FakeUploads, shell: Shell, deck: Path) -> None:
    shell.tty = True
    shell("upload", deck, "--open", env={"DISPLAY": ":0"})
    assert shell.opened == [share_url(1)]
    assert "no browser found" in shell("upload", deck, "--open", env={"DISPLAY": ":0", "CI": "1"}).err
    assert shell.opened == [share_url(1)]


def test_csv_has_a_header(fake_uploads: FakeUploads, shell: Shell, deck: Path) -> None:
    head, line = csv.reader(io.StringIO(shell("upload", deck, "--format", "csv").out))
    assert head == ["path", "shareUrl", "shortId", "uuid", "size", "sha256", "status"]
    assert line[4:] == [str(len(PDF)), hashlib.sha256(PDF).hexdigest(), "uploaded"]


def write_sparse_file(path: Path, head: bytes, size: int) -> None:
    """Create a sparse file of that size, which takes no disk space."""
    with path.open("wb") as file:
        file.write(head)
        file.truncate(size)


@pytest.mark.parametrize(("folder", "code"), [("word/", 0), ("ppt/", 0), ("xl/", 2)])
def test_an_office_document_without_an_extension_is_identified_by_its_zip_directory(
    fake_uploads: FakeUploads, shell: Shell, tmp_path: Path, folder: str, code: int
) -> None:
    path = tmp_path / "plain"
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("[Content_Types].xml", "x" * 2000)  # the relevant name is beyond the first bytes that are read
        package.writestr(f"{folder}main.xml", "<x/>")
    assert shell("upload", path).code == code
    assert len(fake_uploads.uploads) == (code == 0)


def test_a_zip_file_without_a_directory_is_rejected(fake_uploads: FakeUploads, shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"PK\x03\x04" + b"x" * 2000)
    assert shell("upload", tmp_path / "plain").code == 2
    assert fake_uploads.uploads == []
