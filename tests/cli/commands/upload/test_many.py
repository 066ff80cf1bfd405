"""``docshare upload`` with many files: order, failures, manifests, and parallel uploads."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Barrier, Event

import pytest

from tests.cli.commands.fakes.uploads import PDF, FakeUploads, share_url
from tests.support.outside.fake_api import UUID, FakeApi, FakeResponse, FakeTime, RecordedRequest, problem
from tests.support.shell import Shell


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Create folders with documents and other files."""
    root = tmp_path / "docs"
    for name in ("b.pdf", "a.PDF", "notes.txt", ".hidden.pdf", "sub/c.pdf", "sub/d.docx", ".git/e.pdf"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(PDF + name.encode())
    return root


@pytest.fixture
def three_pdfs(tmp_path: Path) -> list[Path]:
    """Create three_pdfs PDFs with different content."""
    paths = [tmp_path / f"{letter}.pdf" for letter in "abc"]
    for path in paths:
        path.write_bytes(PDF + path.name.encode())
    return paths


def list_received_names(uploads_api: FakeUploads) -> list[str]:
    return [name for name, _ in uploads_api.uploads]


# --- selection -------------------------------------------------------------------------------------------------------


def test_a_folder_is_uploaded_in_order_without_hidden_files(
    fake_uploads: FakeUploads, shell: Shell, folder: Path
) -> None:
    done = shell("upload", "-r", folder, "--no-check")
    assert (done.code, done.lines) == (0, [share_url(1), share_url(2), share_url(3), share_url(4)])
    assert list_received_names(fake_uploads) == ["a.PDF", "b.pdf", "c.pdf", "d.docx"]


def test_include_selects_the_files_of_a_folder(fake_uploads: FakeUploads, shell: Shell, folder: Path) -> None:
    assert shell("upload", "-r", folder, "--include", "B*", "--include", "*.txt", "--no-check").code == 0
    assert list_received_names(fake_uploads) == ["b.pdf", "notes.txt"]


def test_a_folder_without_r_fails_and_other_files_are_uploaded(
    fake_uploads: FakeUploads, shell: Shell, folder: Path, deck: Path
) -> None:
    done = shell("upload", folder, deck)
    assert (done.code, done.out) == (12, f"{share_url(1)}\n")
    assert "is a directory (Use -r" in done.err


@pytest.mark.parametrize(("options", "end"), [((), "\n"), ((), "\r\n"), (("-0",), "\0")])
@pytest.mark.parametrize("source", ["list", "-"])
def test_paths_are_read_from_a_file_or_stdin(
    fake_uploads: FakeUploads,
    shell: Shell,
    tmp_path: Path,
    three_pdfs: list[Path],
    options: tuple[str, ...],
    end: str,
    source: str,
) -> None:
    listing = "".join(f"{path}{end}" for path in three_pdfs).encode()
    (tmp_path / "list").write_bytes(listing)
    where = "-" if source == "-" else str(tmp_path / "list")
    done = shell("upload", "--files-from", where, *options, stdin=listing)
    assert (done.code, len(done.lines)) == (0, 3)
    assert list_received_names(fake_uploads) == ["a.pdf", "b.pdf", "c.pdf"]


def test_a_path_list_with_one_entry_prints_a_json_array(
    fake_uploads: FakeUploads, shell: Shell, tmp_path: Path, deck: Path
) -> None:
    (tmp_path / "list").write_text(f"{deck}\n")
    assert isinstance(shell("upload", "--files-from", tmp_path / "list", "--json").json, list)


def test_stdin_is_read_only_if_it_is_named(fake_uploads: FakeUploads, shell: Shell, three_pdfs: list[Path]) -> None:
    """Commands that read stdin whenever it is not a terminal hang in cron, in CI and over ssh."""
    reader, writer = os.pipe()
    command = [sys.executable, "-m", "docshare", "upload", *map(str, three_pdfs)]
    try:
        done = subprocess.run(command, stdin=reader, capture_output=True, env=shell.env, check=True, timeout=30)
    finally:
        os.close(reader)
        os.close(writer)
    assert len(done.stdout.splitlines()) == 3


# --- results and failures --------------------------------------------------------------------------------------------


def test_a_failed_file_prints_no_line_and_the_exit_code_is_12(
    fake_uploads: FakeUploads, shell: Shell, three_pdfs: list[Path]
) -> None:
    fake_uploads.errors["b.pdf"] = problem(422, "unprocessable", "needs a password")
    done = shell("upload", *three_pdfs)
    assert (done.code, done.lines) == (12, [share_url(1), share_url(2)])
    assert f"error: {three_pdfs[1]}: needs a password" in done.err


def test_json_is_an_array_with_failures_in_input_order(
    fake_uploads: FakeUploads, shell: Shell, three_pdfs: list[Path]
) -> None:
    fake_uploads.errors["b.pdf"] = problem(422, "unprocessable", "needs a password")
    done = shell("upload", *three_pdfs, "--json")
    assert done.code == 12
    first, second, third = done.json
    assert (first["path"], first["shareUrl"], third["shareUrl"]) == (str(three_pdfs[0]), share_url(1), share_url(2))
    assert second["path"] == str(three_pdfs[1])
    assert {key: second["error"][key] for key in ("status", "code", "detail", "exit")} == {
        "status": 422, "code": "unprocessable", "detail": "needs a password", "exit": 9,
    }  # fmt: skip
    assert list(second) == ["path", "error"]


def test_plain_output_includes_failures(fake_uploads: FakeUploads, shell: Shell, three_pdfs: list[Path]) -> None:
    fake_uploads.errors["b.pdf"] = problem(422, "unprocessable")
    assert shell("upload", *three_pdfs, "--format", "plain").lines == [
        f"{three_pdfs[0]}\t{share_url(1)}\tuploaded", f"{three_pdfs[1]}\t\tunprocessable",
        f"{three_pdfs[2]}\t{share_url(2)}\tuploaded",
    ]  # fmt: skip


def test_a_missing_file_among_others_counts_as_one_failure(
    fake_uploads: FakeUploads, shell: Shell, three_pdfs: list[Path]
) -> None:
    three_pdfs[1].unlink()
    done = shell("upload", *three_pdfs)
    assert (done.code, len(done.lines)) == (12, 2)
    assert f"{three_pdfs[1]} cannot be read" in done.err


def test_the_exit_code_is_that_of_the_failure_if_all_files_fail_alike(
    fake_uploads: FakeUploads, shell: Shell, three_pdfs: list[Path]
) -> None:
    fake_uploads.errors = {path.name: problem(422, "unprocessable") for path in three_pdfs}
    assert shell("upload", *three_pdfs).code == 9
    fake_uploads.errors["b.pdf"] = problem(503, "unavailable", Retry_After="900")
    assert shell("upload", *three_pdfs).code == 12
    for path in three_pdfs:
        path.unlink()
    assert shell("upload", *three_pdfs).code == 2


def test_fail_fast_starts_no_upload_after_a_failure(
    fake_uploads: FakeUploads, shell: Shell, three_pdfs: list[Path]
) -> None:
    fake_uploads.errors["b.pdf"] = problem(422, "unprocessable")
    done = shell("upload", *three_pdfs, "--fail-fast")
    assert (done.code, done.lines) == (12, [share_url(1)])
    assert "warning: 1 of 3 files were not attempted" in done.err


@pytest.mark.parametrize(("answer", "code"), [
    (problem(401, "unauthorized"), 4), (problem(403, "insufficient_scope"), 5),
    (problem(429, "rate_limited", Retry_After="900"), 10), (FakeResponse(b"", 301, {"Location": "/"}), 11),
])  # fmt: skip
def test_an_error_that_affects_every_file_stops_the_run_at_the_first(
    api: FakeApi, shell: Shell, three_pdfs: list[Path], answer: FakeResponse, code: int
) -> None:
    api.on("POST", "/files", answer)
    done = shell("upload", *three_pdfs, "--json")
    assert (done.code, len(done.json)) == (code, 1)
    assert len(api.list_requests("POST", "/files")) == 1


def test_the_file_limit_stops_the_run(
    api: FakeApi, fake_uploads: FakeUploads, shell: Shell, three_pdfs: list[Path]
) -> None:
    fake_uploads.errors = {name: problem(403, "forbidden", "The plan allows 3 files.") for name in ("b.pdf", "c.pdf")}
    api.on("GET", "/user", {"tier": "free"})
    api.files = [{"uuid": UUID.format(n)} for n in range(3)]
    done = shell("upload", *three_pdfs)
    assert (done.code, done.lines) == (12, [share_url(1)])
    assert len(api.list_requests("POST", "/files")) == 2


def test_a_bulk_upload_stays_below_the_rate_limit(
    api: FakeApi, shell: Shell, three_pdfs: list[Path], time: FakeTime
) -> None:
    result = {"uuid": UUID.format(1), "shareUrl": share_url(1)}
    api.on("POST", "/files", FakeResponse(result, headers={"RateLimit": '"default";r=6;t=60'}))
    assert shell("upload", *three_pdfs).code == 0
    assert time.waits == [10.0, 10.0]


def test_an_interrupted_run_prints_the_completed_uploads(
    api: FakeApi, fake_uploads: FakeUploads, shell: Shell, three_pdfs: list[Path]
) -> None:
    arrived, over = Event(), Event()

    def hang_on_second(heard: RecordedRequest) -> object:
        if len(api.list_requests("POST", "/files")) == 2:
            arrived.set()
            over.wait(120)
        return fake_uploads.receive(heard)

    api.on("POST", "/files", hang_on_second)
    for jobs in ("1", "2"):
        api.requests.clear()
        arrived.clear()
        command = [sys.executable, "-m", "docshare", "upload", *map(str, three_pdfs), "--jobs", jobs]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=shell.env) as process:
            assert arrived.wait(60)
            assert process.stdout is not None
            if jobs == "1":
                assert process.stdout.readline().startswith(b"https://")
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130  # it does not wait for the response
    over.set()


# --- parallel uploads ------------------------------------------------------------------------------------------------


def test_jobs_upload_in_parallel_and_print_in_input_order(
    api: FakeApi, fake_uploads: FakeUploads, shell: Shell, three_pdfs: list[Path]
) -> None:
    together = Barrier(3, timeout=20)
    turn = {name: Event() for name in ("b.pdf", "c.pdf")}

    def receive_upload(heard: RecordedRequest) -> object:
        name, _ = heard.part()
        together.wait()
        if name in turn:
            turn[name].wait(20)
        taken = fake_uploads.receive(heard)
        following = {"a.pdf": "c.pdf", "c.pdf": "b.pdf"}.get(name)
        if following:
            turn[following].set()
        return taken

    api.on("POST", "/files", receive_upload)
    done = shell("upload", *three_pdfs, "--jobs", "3")
    assert list_received_names(fake_uploads) == ["a.pdf", "c.pdf", "b.pdf"]
    assert (done.code, done.lines) == (0, [share_url(1), share_url(3), share_url(2)])


def test_json_lines_are_printed_as_soon_as_each_upload_completes(
    api: FakeApi, fake_uploads: FakeUploads, shell: Shell, three_pdfs: list[Path]
) -> None:
    late = Event()

    def receive_upload(heard: RecordedRequest) -> object:
        name, _ = heard.part()
        if name == "a.pdf":
            late.wait(20)
        return fake_uploads.receive(heard)

    def release_first(text: str) -> None:
        if "c.pdf" in text:
            late.set()

    api.on("POST", "/files", receive_upload)
    shell.written = release_first
    done = shell("upload", *three_pdfs, "--jobs", "2", "--format", "jsonl")
    assert [Path(each["path"]).name for each in done.rows] == ["b.pdf", "c.pdf", "a.pdf"]


def test_a_failure_of_one_job_does_not_stop_the_others(
    fake_uploads: FakeUploads, shell: Shell, three_pdfs: list[Path]
) -> None:
    fake_uploads.errors["a.pdf"] = problem(422, "unprocessable")
    done = shell("upload", *three_pdfs, "--jobs", "4")
    assert (done.code, sorted(done.lines)) == (12, [share_url(1), share_url(2)])


def test_the_progress_of_several_uploads_shows_when_only_the_server_is_working(
    fake_uploads: FakeUploads, shell: Shell, three_pdfs: list[Path]
) -> None:
    done = shell("upload", *three_pdfs, "--jobs", "3", "--progress", "json")
    stages = [json.loads(line)["progress"] for line in done.err.splitlines()]
    size = sum(path.stat().st_size for path in three_pdfs)
    assert {"label": "3 files", "done": size, "total": size, "stage": "processing on server"} in stages


# --- repeated runs ---------------------------------------------------------------------------------------------------


def test_a_manifest_makes_a_second_run_skip_uploaded_files(
    fake_uploads: FakeUploads, shell: Shell, tmp_path: Path, three_pdfs: list[Path]
) -> None:
    ledger = tmp_path / "shared.jsonl"
    first = shell("upload", *three_pdfs[:2], "--manifest", ledger)
    entries = [json.loads(line) for line in ledger.read_text().splitlines()]
    assert entries[0] == {
        "path": str(three_pdfs[0]), "sha256": hashlib.sha256(PDF + b"a.pdf").hexdigest(), "size": len(PDF) + 5,
        "uuid": UUID.format(1), "shortId": "aB3dE5fG7h01", "shareUrl": share_url(1), "at": "2026-09-21T14:13:20.000Z",
    }  # fmt: skip
    again = shell("upload", *three_pdfs, "--manifest", ledger)
    assert again.lines == [*first.lines, share_url(3)]
    assert list_received_names(fake_uploads) == ["a.pdf", "b.pdf", "c.pdf"]
    assert len(ledger.read_text().splitlines()) == 3


def test_changed_content_is_sent_again_even_at_the_same_size(
    fake_uploads: FakeUploads, shell: Shell, tmp_path: Path, deck: Path
) -> None:
    ledger = tmp_path / "shared.jsonl"
    shell("upload", deck, "--manifest", ledger)
    deck.write_bytes(PDF[:-1] + b"y")
    assert shell("upload", deck, "--manifest", ledger).out == f"{share_url(2)}\n"
    assert shell("upload", deck, "--manifest", ledger).out == f"{share_url(2)}\n"
    assert len(fake_uploads.uploads) == 2


def test_a_skipped_file_is_marked_as_skipped(
    fake_uploads: FakeUploads, shell: Shell, tmp_path: Path, deck: Path
) -> None:
    ledger = tmp_path / "shared.jsonl"
    shell("upload", deck, "--manifest", ledger)
    assert shell("upload", deck, "--manifest", ledger, "--json").json["skipped"] is True
    assert shell("upload", deck, "--manifest", ledger, "--format", "plain").out.endswith("\tskipped\n")
    shell.tty = True
    assert "already uploaded, skipped" in shell("upload", deck, "--manifest", ledger).out


def test_a_failed_upload_is_not_in_the_manifest(
    fake_uploads: FakeUploads, shell: Shell, tmp_path: Path, three_pdfs: list[Path]
) -> None:
    fake_uploads.errors["a.pdf"] = problem(422, "unprocessable")
    shell("upload", *three_pdfs, "--manifest", tmp_path / "shared.jsonl")
    assert "a.pdf" not in (tmp_path / "shared.jsonl").read_text()


def test_a_manifest_truncated_by_a_crash_loses_only_its_last_line(
    fake_uploads: FakeUploads, shell: Shell, tmp_path: Path, three_pdfs: list[Path]
) -> None:
    ledger = tmp_path / "shared.jsonl"
    shell("upload", *three_pdfs[:2], "--manifest", ledger)
    ledger.write_text(ledger.read_text()[:-20])
    assert shell("upload", *three_pdfs, "--manifest", ledger).code == 0
    assert list_received_names(fake_uploads) == ["a.pdf", "b.pdf", "b.pdf", "c.pdf"]
    assert shell("upload", *three_pdfs, "--manifest", ledger).code == 0
    assert len(fake_uploads.uploads) == 4


@pytest.mark.parametrize("text", ["{}\n", "[]\n", "x\n", '{"path": 1, "sha256": "", "uuid": "", "shareUrl": ""}\n'])
def test_a_file_that_is_not_a_manifest_is_rejected(
    api: FakeApi, shell: Shell, tmp_path: Path, deck: Path, text: str
) -> None:
    (tmp_path / "other.jsonl").write_text(text)
    assert shell("upload", deck, "--manifest", tmp_path / "other.jsonl").code == 2
    assert api.requests == []
    assert (tmp_path / "other.jsonl").read_text() == text


def test_skip_existing_matches_active_files_by_name_and_size(
    api: FakeApi, fake_uploads: FakeUploads, shell: Shell, three_pdfs: list[Path]
) -> None:
    size = len(PDF) + 5
    api.files = [
        {"uuid": UUID.format(51), "shareUrl": share_url(51), "originalName": "a.pdf", "size": size},
        {"uuid": UUID.format(50), "shareUrl": share_url(50), "originalName": "a.pdf", "size": size},
        {"uuid": UUID.format(52), "shareUrl": share_url(52), "originalName": "b.pdf", "size": 1},
        {"uuid": UUID.format(53), "shareUrl": share_url(53), "originalName": "c.pdf", "size": size, "burnedAt": "x"},
        {"uuid": UUID.format(54), "shareUrl": share_url(54), "originalName": "c.pdf", "size": size,
         "deleteAt": "2026-09-21T14:13:20.000Z"},
    ]  # fmt: skip
    assert shell("upload", *three_pdfs, "--skip-existing").lines == [share_url(51), share_url(1), share_url(2)]
    assert list_received_names(fake_uploads) == ["b.pdf", "c.pdf"]


@pytest.mark.parametrize("options", [(), ("--skip-existing",), ("--manifest", "shared.jsonl")])
def test_a_dry_run_sends_nothing_and_writes_nothing(
    api: FakeApi, shell: Shell, tmp_path: Path, three_pdfs: list[Path], options: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    done = shell("upload", *three_pdfs, "-n", *options)
    assert (done.code, api.requests) == (0, [])
    assert done.lines[0] == f"POST\t/api/v1/files\tfile=a.pdf ({len(PDF) + 5} bytes)"
    assert len(done.lines) == 3
    assert not (tmp_path / "shared.jsonl").exists()


def test_a_dry_run_checks_the_files(shell: Shell, three_pdfs: list[Path]) -> None:
    three_pdfs[1].write_bytes(b"")
    done = shell("upload", *three_pdfs, "-n")
    assert (done.code, len(done.lines)) == (12, 2)
    assert shell("upload", three_pdfs[1], "-n").code == 2
