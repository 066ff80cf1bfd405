"""``docshare upload --manifest --update``: what has changed becomes the next version of the file it was shared as."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands.fake_uploads import PDF, FakeUploads, share_url
from tests.support.fake_api import UUID, FakeApi, FakeResponse, FakeTime, problem
from tests.support.shell import CommandResult, Shell

NEW = PDF + b"changed"
ROUTE = f"/files/{UUID.format(1)}/content"


@pytest.fixture
def ledger(fake_uploads: FakeUploads, shell: Shell, deck: Path, tmp_path: Path) -> Path:
    """A manifest that knows ``deck``, which has changed since."""
    path = tmp_path / "shared.jsonl"
    assert shell("upload", deck, "--manifest", path).code == 0
    deck.write_bytes(NEW)
    return path


def make_result(**more: Any) -> dict[str, Any]:
    base = {"uuid": UUID.format(1), "contentVersion": 2, "originalName": "deck.pdf", "size": 99, "message": "Replaced."}
    return base | {"anchorsCleared": True, "clearedHotspots": 0, "clearedNotes": 0} | more


def run_update(shell: Shell, deck: Path, ledger: Path, *more: str | Path) -> CommandResult:
    return shell("upload", deck, "--manifest", ledger, "--update", *more)


def test_a_changed_document_keeps_its_link(
    api: FakeApi, fake_uploads: FakeUploads, shell: Shell, deck: Path, ledger: Path
) -> None:
    api.on("POST", ROUTE, make_result())
    done = run_update(shell, deck, ledger)
    assert (done.code, done.out) == (0, f"{share_url(1)}\n")
    assert [heard.part() for heard in api.list_requests("POST", ROUTE)] == [("deck.pdf", NEW)]
    assert len(fake_uploads.uploads) == 1


def test_the_ledger_knows_the_new_bytes_so_that_a_third_run_sends_nothing(
    api: FakeApi, fake_uploads: FakeUploads, shell: Shell, deck: Path, ledger: Path
) -> None:
    api.on("POST", ROUTE, make_result())
    run_update(shell, deck, ledger)
    entry = json.loads(ledger.read_text().splitlines()[-1])
    assert (entry["uuid"], entry["size"], entry["contentVersion"]) == (UUID.format(1), len(NEW), 2)
    assert run_update(shell, deck, ledger, "--json").json["skipped"] is True
    assert len(api.list_requests("POST", ROUTE)) == 1


def test_without_update_a_changed_document_is_a_new_file(
    fake_uploads: FakeUploads, shell: Shell, deck: Path, ledger: Path
) -> None:
    assert shell("upload", deck, "--manifest", ledger).out == f"{share_url(2)}\n"
    assert len(fake_uploads.uploads) == 2


def test_what_the_ledger_does_not_know_is_uploaded(
    api: FakeApi, fake_uploads: FakeUploads, shell: Shell, deck: Path, ledger: Path, tmp_path: Path
) -> None:
    api.on("POST", ROUTE, make_result())
    other = tmp_path / "other.pdf"
    other.write_bytes(PDF + b"other")
    done = shell("upload", deck, other, "--manifest", ledger, "--update")
    assert done.lines == [share_url(1), share_url(2)]


def test_a_file_that_is_gone_is_shared_anew(
    api: FakeApi, fake_uploads: FakeUploads, shell: Shell, deck: Path, ledger: Path
) -> None:
    api.on("POST", ROUTE, problem(404, "not_found"))
    assert run_update(shell, deck, ledger).out == f"{share_url(2)}\n"


@pytest.mark.parametrize(
    ("status", "code", "ending"), [(403, "plan_required", 6), (403, "forbidden", 5), (410, "gone", 8)]
)
def test_a_refused_update_is_no_upload(
    api: FakeApi, fake_uploads: FakeUploads, shell: Shell, deck: Path, ledger: Path, status: int, code: str, ending: int
) -> None:
    api.on("POST", ROUTE, problem(status, code))
    done = run_update(shell, deck, ledger)
    assert (done.code, done.out) == (ending, "")
    assert len(fake_uploads.uploads) == 1
    assert len(ledger.read_text().splitlines()) == 1


def test_a_conflict_is_tried_once_more(
    api: FakeApi, fake_uploads: FakeUploads, shell: Shell, deck: Path, ledger: Path, time: FakeTime
) -> None:
    api.on("POST", ROUTE, problem(409, "conflict"), make_result())
    assert run_update(shell, deck, ledger).code == 0
    assert time.waits == [1.0]
    api.on("POST", ROUTE, problem(409, "conflict"))
    deck.write_bytes(NEW + b"again")
    assert run_update(shell, deck, ledger).code == 7


def test_programs_and_people_are_told(
    api: FakeApi, fake_uploads: FakeUploads, shell: Shell, deck: Path, ledger: Path
) -> None:
    api.on("POST", ROUTE, make_result())
    row = run_update(shell, deck, ledger, "--json").json
    assert (row["updated"], row["contentVersion"], row["shareUrl"], row["size"]) == (True, 2, share_url(1), len(NEW))
    deck.write_bytes(NEW + b"again")
    assert run_update(shell, deck, ledger, "--format", "plain").out.split("\t")[2] == "updated\n"
    shell.tty = True
    deck.write_bytes(NEW + b"once more")
    assert "version 2" in run_update(shell, deck, ledger).out


def test_settings_go_to_new_files_only(
    api: FakeApi, fake_uploads: FakeUploads, shell: Shell, deck: Path, ledger: Path
) -> None:
    api.on("POST", ROUTE, make_result())
    api.on("PUT", f"/files/{UUID.format(1)}/settings", FakeResponse(b""))
    assert run_update(shell, deck, ledger, "--no-download").code == 0
    assert api.list_requests("PUT", f"/files/{UUID.format(1)}/settings") == []


def test_update_needs_a_manifest(fake_uploads: FakeUploads, shell: Shell, deck: Path) -> None:
    done = shell("upload", deck, "--update")
    assert done.code == 2
    assert "--manifest" in done.err
    assert fake_uploads.uploads == []


def test_a_dry_run_names_what_would_be_replaced_and_leaves_out_what_is_done(
    api: FakeApi, fake_uploads: FakeUploads, shell: Shell, deck: Path, ledger: Path, tmp_path: Path
) -> None:
    fresh = tmp_path / "fresh.pdf"
    fresh.write_bytes(PDF + b"fresh")
    done = shell("upload", deck, fresh, "--manifest", ledger, "--update", "-n", "--json")
    assert [row["path"] for row in done.json] == [f"/api/v1{ROUTE}", "/api/v1/files"]
    deck.write_bytes(PDF)
    done = shell("upload", deck, "--manifest", ledger, "--update", "-n", "--json")
    assert done.json == []
    assert len(fake_uploads.uploads) == 1
