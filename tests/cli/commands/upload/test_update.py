"""``docshare upload --manifest --update``: changed documents become the next version of the same file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands.fakes.uploads import PDF, FakeUploads, share_url
from tests.support.outside.fake_api import UUID, FakeApi, FakeResponse, FakeTime, problem
from tests.support.shell import CommandResult, Shell

NEW = PDF + b"changed"
ROUTE = f"/files/{UUID.format(1)}/content"


@pytest.fixture
def manifest_file(fake_uploads: FakeUploads, shell: Shell, deck: Path, tmp_path: Path) -> Path:
    """Create a manifest with an entry for ``deck``, which has changed since."""
    path = tmp_path / "shared.jsonl"
    assert shell("upload", deck, "--manifest", path).code == 0
    deck.write_bytes(NEW)
    return path


def make_result(**more: Any) -> dict[str, Any]:
    base = {"uuid": UUID.format(1), "contentVersion": 2, "originalName": "deck.pdf", "size": 99, "message": "Replaced."}
    return base | {"anchorsCleared": True, "clearedHotspots": 0, "clearedNotes": 0} | more


def run_update(shell: Shell, deck: Path, manifest_file: Path, *more: str | Path) -> CommandResult:
    return shell("upload", deck, "--manifest", manifest_file, "--update", *more)


def test_a_changed_document_keeps_its_link(
    api: FakeApi, fake_uploads: FakeUploads, shell: Shell, deck: Path, manifest_file: Path
) -> None:
    api.on("POST", ROUTE, make_result())
    done = run_update(shell, deck, manifest_file)
    assert (done.code, done.out) == (0, f"{share_url(1)}\n")
    assert [heard.part() for heard in api.list_requests("POST", ROUTE)] == [("deck.pdf", NEW)]
    assert len(fake_uploads.uploads) == 1


def test_the_manifest_records_the_new_bytes_and_a_third_run_sends_nothing(
    api: FakeApi, fake_uploads: FakeUploads, shell: Shell, deck: Path, manifest_file: Path
) -> None:
    api.on("POST", ROUTE, make_result())
    run_update(shell, deck, manifest_file)
    entry = json.loads(manifest_file.read_text().splitlines()[-1])
    assert (entry["uuid"], entry["size"], entry["contentVersion"]) == (UUID.format(1), len(NEW), 2)
    assert run_update(shell, deck, manifest_file, "--json").json["skipped"] is True
    assert len(api.list_requests("POST", ROUTE)) == 1


def test_without_update_a_changed_document_is_a_new_file(
    fake_uploads: FakeUploads, shell: Shell, deck: Path, manifest_file: Path
) -> None:
    assert shell("upload", deck, "--manifest", manifest_file).out == f"{share_url(2)}\n"
    assert len(fake_uploads.uploads) == 2


def test_a_file_that_is_not_in_the_manifest_is_uploaded(
    api: FakeApi, fake_uploads: FakeUploads, shell: Shell, deck: Path, manifest_file: Path, tmp_path: Path
) -> None:
    api.on("POST", ROUTE, make_result())
    other = tmp_path / "other.pdf"
    other.write_bytes(PDF + b"other")
    done = shell("upload", deck, other, "--manifest", manifest_file, "--update")
    assert done.lines == [share_url(1), share_url(2)]


def test_a_file_that_no_longer_exists_is_uploaded_again(
    api: FakeApi, fake_uploads: FakeUploads, shell: Shell, deck: Path, manifest_file: Path
) -> None:
    api.on("POST", ROUTE, problem(404, "not_found"))
    assert run_update(shell, deck, manifest_file).out == f"{share_url(2)}\n"


@pytest.mark.parametrize(
    ("status", "code", "ending"), [(403, "plan_required", 6), (403, "forbidden", 5), (410, "gone", 8)]
)
def test_a_rejected_update_does_not_upload_a_new_file(
    api: FakeApi,
    fake_uploads: FakeUploads,
    shell: Shell,
    deck: Path,
    manifest_file: Path,
    status: int,
    code: str,
    ending: int,
) -> None:
    api.on("POST", ROUTE, problem(status, code))
    done = run_update(shell, deck, manifest_file)
    assert (done.code, done.out) == (ending, "")
    assert len(fake_uploads.uploads) == 1
    assert len(manifest_file.read_text().splitlines()) == 1


def test_a_conflict_is_retried_once(
    api: FakeApi, fake_uploads: FakeUploads, shell: Shell, deck: Path, manifest_file: Path, time: FakeTime
) -> None:
    api.on("POST", ROUTE, problem(409, "conflict"), make_result())
    assert run_update(shell, deck, manifest_file).code == 0
    assert time.waits == [1.0]
    api.on("POST", ROUTE, problem(409, "conflict"))
    deck.write_bytes(NEW + b"again")
    assert run_update(shell, deck, manifest_file).code == 7


def test_an_update_is_marked_in_json_in_a_pipe_and_on_a_terminal(
    api: FakeApi, fake_uploads: FakeUploads, shell: Shell, deck: Path, manifest_file: Path
) -> None:
    api.on("POST", ROUTE, make_result())
    row = run_update(shell, deck, manifest_file, "--json").json
    assert (row["updated"], row["contentVersion"], row["shareUrl"], row["size"]) == (True, 2, share_url(1), len(NEW))
    deck.write_bytes(NEW + b"again")
    assert run_update(shell, deck, manifest_file, "--format", "plain").out.split("\t")[2] == "updated\n"
    shell.tty = True
    deck.write_bytes(NEW + b"once more")
    assert "version 2" in run_update(shell, deck, manifest_file).out


def test_settings_are_written_only_to_new_files(
    api: FakeApi, fake_uploads: FakeUploads, shell: Shell, deck: Path, manifest_file: Path
) -> None:
    api.on("POST", ROUTE, make_result())
    api.on("PUT", f"/files/{UUID.format(1)}/settings", FakeResponse(b""))
    assert run_update(shell, deck, manifest_file, "--no-download").code == 0
    assert api.list_requests("PUT", f"/files/{UUID.format(1)}/settings") == []


def test_update_requires_a_manifest(fake_uploads: FakeUploads, shell: Shell, deck: Path) -> None:
    done = shell("upload", deck, "--update")
    assert done.code == 2
    assert "--manifest" in done.err
    assert fake_uploads.uploads == []


def test_a_dry_run_lists_replacements_and_omits_unchanged_files(
    api: FakeApi, fake_uploads: FakeUploads, shell: Shell, deck: Path, manifest_file: Path, tmp_path: Path
) -> None:
    fresh = tmp_path / "fresh.pdf"
    fresh.write_bytes(PDF + b"fresh")
    done = shell("upload", deck, fresh, "--manifest", manifest_file, "--update", "-n", "--json")
    assert [row["path"] for row in done.json] == [f"/api/v1{ROUTE}", "/api/v1/files"]
    deck.write_bytes(PDF)
    done = shell("upload", deck, "--manifest", manifest_file, "--update", "-n", "--json")
    assert done.json == []
    assert len(fake_uploads.uploads) == 1
