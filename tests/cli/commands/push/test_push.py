"""``docshare push``: the same command line after every build, against a real server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from docshare.contract.plans import Plan
from docshare.server.services.accounts import accounts
from tests.support.documents import office
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.rows import update_file_row
from tests.support.outside.fake_api import UUID, FakeApi, problem
from tests.support.people.cast import BASE_URL, Person, World
from tests.support.shell import Shell

MakeShell = Callable[[Person], Shell]

ONE, TWO = simple_pdf(pages=1), simple_pdf(pages=2)


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "report.pdf"
    path.write_bytes(ONE)
    return path


def list_files(person: Person) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = person.get("/api/v1/files").get_json()
    return found


def get_content(person: Person, uuid: str) -> bytes:
    return person.get(f"/api/v1/files/{uuid}/content", buffered=True).data


def test_the_first_push_uploads_and_later_pushes_replace(world: World, pia: Shell, report: Path) -> None:
    """The document of a known slug is replaced in place, the same bytes are a no-op; only the URL is printed."""
    told = []
    for content in (ONE, ONE, TWO, TWO):
        report.write_bytes(content)
        told.append(pia("push", report, "--slug", "q3", "--json").json)
    assert [each["status"] for each in told] == ["created", "unchanged", "replaced", "unchanged"]
    assert [each["contentVersion"] for each in told] == [1, 1, 2, 2]
    assert len({each["uuid"] for each in told}) == 1
    (file,) = list_files(world.pia)
    assert (file["slug"], file["contentVersion"], file["sha256"]) == ("q3", 2, told[-1]["sha256"])
    assert get_content(world.pia, file["uuid"]) == TWO
    done = pia("push", report, "--slug", "q3")
    assert (done.code, done.out, done.err) == (0, f"{BASE_URL}/q3\n", "")
    assert world.http.get("/q3").status_code == 200


def test_a_push_prints_the_warnings_about_its_document(
    world: World, pia: Shell, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server warns of a page that is slow to render and of a version without the shared pages."""
    inspect = world.rt.engine.inspect
    monkeypatch.setattr(world.rt.engine, "inspect", lambda *sent: replace(inspect(*sent), is_slow=True))
    report.write_bytes(TWO)
    done = pia("push", report, "--slug", "q3")
    slow = f"warning: {report}: Page 1 takes more than 2 seconds to render."
    assert (done.code, slow in done.err) == (0, True)
    assert pia("settings", "set", "slug:q3", "--pages", "2-2").code == 0
    report.write_bytes(ONE)
    done = pia("push", report, "--slug", "q3", "--json")
    assert (done.code, slow in done.err, "readers see no pages" in done.err) == (0, True, True)
    assert (done.json["warning"].split(" takes")[0], done.json["pageRangeEmpty"]) == ("Page 1", True)


def test_a_push_that_changes_nothing_sends_nothing(world: World, pia: Shell, report: Path) -> None:
    pia("push", report, "--slug", "q3")
    before = list_files(world.pia)
    world.clock.advance(seconds=60)
    assert pia("push", report, "--slug", "q3", "--json").json["status"] == "unchanged"
    assert list_files(world.pia) == before


@pytest.mark.parametrize("manifest", ["", ".", "/", "/dev/full"])
def test_a_manifest_that_is_not_a_file_exits_with_2(pia: Shell, report: Path, manifest: str) -> None:
    done = pia("push", report, "--manifest", manifest, "--json")
    assert (done.code, done.out) == (2, "")
    assert "--manifest" in done.error["detail"]


def test_a_manifest_identifies_the_file_without_a_slug(world: World, shell_for: MakeShell, report: Path) -> None:
    """A manifest works without slugs, which require Pro; replacing requires Pro and exits with 6 otherwise."""
    fay = shell_for(world.fay)
    done = fay("push", report, "--manifest", "shared.jsonl")
    (file,) = list_files(world.fay)
    assert (done.code, done.out) == (0, f"{BASE_URL}/{file['shortId']}\n")
    assert fay("push", report, "--manifest", "shared.jsonl", "--json").json["status"] == "unchanged"
    report.write_bytes(TWO)
    done = fay("push", report, "--manifest", "shared.jsonl", "--json")
    assert (done.code, done.out) == (6, "")
    assert "requires the pro plan" in done.error["detail"]
    accounts.set_tier(world.rt, world.fay.email, Plan.PRO)
    done = fay("push", report, "--manifest", "shared.jsonl", "--json")
    assert (done.json["status"], done.json["uuid"]) == ("replaced", file["uuid"])
    assert fay("push", report, "--manifest", "shared.jsonl", "--json").json["status"] == "unchanged"
    assert len(list_files(world.fay)) == 1


def test_a_slug_without_pro_is_rejected_before_the_upload(world: World, shell_for: MakeShell, report: Path) -> None:
    done = shell_for(world.bea)("push", report, "--slug", "q3", "--json")
    assert (done.code, done.out) == (6, "")
    assert "requires the pro plan" in done.error["detail"]
    assert "--manifest" in done.error["hint"]
    assert list_files(world.bea) == []


def test_a_slug_that_is_added_later_applies_to_the_file_of_the_manifest(world: World, pia: Shell, report: Path) -> None:
    pia("push", report, "--manifest", "shared.jsonl")
    done = pia("push", report, "--manifest", "shared.jsonl", "--slug", "q3", "--json")
    assert (done.json["status"], done.json["url"]) == ("unchanged", f"{BASE_URL}/q3")
    assert [file["slug"] for file in list_files(world.pia)] == ["q3"]


def test_a_file_that_was_deleted_is_uploaded_again(world: World, pia: Shell, report: Path) -> None:
    first = pia("push", report, "--manifest", "shared.jsonl", "--json").json
    world.pia.delete(f"/api/v1/files/{first['uuid']}?purge=1")
    second = pia("push", report, "--manifest", "shared.jsonl", "--json").json
    assert (second["status"], second["uuid"] == first["uuid"]) == ("created", False)
    assert pia("push", report, "--manifest", "shared.jsonl", "--json").json["uuid"] == second["uuid"]


def test_a_slug_of_another_account_exits_with_7_and_leaves_no_file(world: World, pia: Shell, report: Path) -> None:
    update_file_row(world, world.mal.upload()["uuid"], slug="q3")
    done = pia("push", report, "--slug", "q3", "--json")
    assert (done.code, done.error["code"]) == (7, "conflict")
    assert list_files(world.pia) == []
    found = world.rt.db.fetch_one("SELECT COUNT(*) FROM files")
    assert found == (1,)


def test_concurrent_pushes_create_one_file(world: World, pia: Shell, tmp_path: Path) -> None:
    """Concurrent pushes do not create two files: the push that loses the slug continues with the file of the winner."""
    contents = [simple_pdf(pages=number % 2 + 1) for number in range(3)]
    running = []
    for number, content in enumerate(contents):
        path = tmp_path / f"{number}.pdf"
        path.write_bytes(content)
        env = {**pia.env, "PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"]}
        command = [sys.executable, "-m", "docshare", "push", path, "--slug", "q3", "--json"]
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env))
    ended = [(*process.communicate(timeout=60), process.returncode) for process in running]
    assert [code for _, _, code in ended] == [0, 0, 0], [err for _, err, _ in ended]
    told = [json.loads(out) for out, _, _ in ended]
    (file,) = list_files(world.pia)
    assert {each["uuid"] for each in told} == {file["uuid"]}
    assert [each["status"] for each in told].count("created") == 1
    assert get_content(world.pia, file["uuid"]) in contents
    assert world.rt.db.fetch_one("SELECT COUNT(*) FROM files") == (1,)


def test_the_loser_of_a_race_purges_its_upload(api: FakeApi, shell: Shell, report: Path) -> None:
    """A 409 for the slug means that another push was first: replace its file and purge the own upload."""
    mine, theirs = UUID.format(1), UUID.format(2)
    winner = {"uuid": theirs, "slug": "q3", "shareUrl": "https://d.example/aB3dE5fG7hJ9", "sha256": "0" * 64}
    api.on("GET", "/files", [], [winner])
    api.on("POST", "/files", {"uuid": mine, "shareUrl": "https://d.example/aB3dE5fG7hJ1", "message": "."})
    api.on("PUT", f"/files/{mine}/settings", problem(409, "conflict"))
    api.on("DELETE", f"/files/{mine}", {"trashed": False})
    api.on("POST", f"/files/{theirs}/content", problem(409, "conflict"), {"uuid": theirs, "contentVersion": 3})
    done = shell("push", report, "--slug", "q3", "--json")
    assert (done.code, done.json["status"], done.json["uuid"]) == (0, "replaced", theirs)
    assert done.json["url"] == "https://d.example/q3"
    assert [heard.query for heard in api.list_requests("DELETE", f"/files/{mine}")] == [{"purge": "1"}]
    assert len(api.list_requests("POST", f"/files/{theirs}/content")) == 2


def test_a_race_that_never_ends_exits_with_7(api: FakeApi, shell: Shell, report: Path) -> None:
    file = {"uuid": UUID.format(2), "slug": "q3", "shareUrl": "https://d.example/aB3dE5fG7hJ9", "sha256": "0" * 64}
    api.on("GET", "/files", [file])
    api.on("POST", f"/files/{file['uuid']}/content", problem(409, "conflict"))
    assert shell("push", report, "--slug", "q3").code == 7
    assert len(api.list_requests("POST", f"/files/{file['uuid']}/content")) == 3


def test_an_upload_whose_slug_cannot_be_set_and_that_cannot_be_purged_is_reported(
    api: FakeApi, shell: Shell, report: Path
) -> None:
    mine = UUID.format(1)
    api.on("POST", "/files", {"uuid": mine, "shareUrl": "https://d.example/aB3dE5fG7hJ1", "message": "."})
    api.on("PUT", f"/files/{mine}/settings", problem(400, "bad_request"))
    api.on("DELETE", f"/files/{mine}", problem(500, "internal"))
    done = shell("push", report, "--slug", "q3", "--retries", "0")
    assert done.code == 9
    assert f"docshare rm {mine} --purge" in done.err


def test_pushing_restores_a_burned_link_and_rejects_an_expired_one(world: World, pia: Shell, report: Path) -> None:
    """Replacing makes a burned link live again; an expired one cannot be changed (exit code 8)."""
    uuid = pia("push", report, "--slug", "q3", "--json").json["uuid"]
    update_file_row(world, uuid, burned_at=world.clock.now, view_limit=1, views_consumed=1)
    assert pia("push", report, "--slug", "q3", "--json").json["status"] == "replaced"
    assert "burnedAt" not in list_files(world.pia)[0]
    update_file_row(world, uuid, delete_at=1)
    done = pia("push", report, "--slug", "q3", "--json")
    assert (done.code, done.error["code"]) == (8, "gone")
    assert f"docshare rm {uuid} --purge" in done.error["hint"]


def test_the_manifest_stores_the_hash_of_a_converted_document(world: World, pia: Shell, tmp_path: Path) -> None:
    path = tmp_path / "letter.docx"
    path.write_bytes(office.make_docx("First"))
    states = []
    for content in (None, None, office.make_docx("Second"), None):
        if content is not None:
            path.write_bytes(content)
        states.append(pia("push", path, "--manifest", "shared.jsonl", "--slug", "letter", "--json").json["status"])
    assert states == ["created", "unchanged", "replaced", "unchanged"]
    (file,) = list_files(world.pia)
    world.pia.post(f"/api/v1/files/{file['uuid']}/content", data={"file": (open_other_report(tmp_path), "x.pdf")})
    again = pia("push", path, "--manifest", "shared.jsonl", "--slug", "letter", "--json").json
    assert (again["status"], again["contentVersion"]) == ("replaced", 4)


def open_other_report(folder: Path) -> Any:
    (folder / "other.pdf").write_bytes(TWO)
    return (folder / "other.pdf").open("rb")


def test_a_document_can_be_pushed_from_stdin(world: World, pia: Shell) -> None:
    done = pia("push", "-", "--name", "nightly.pdf", "--slug", "nightly", stdin=ONE)
    assert (done.code, list_files(world.pia)[0]["originalName"]) == (0, "nightly.pdf")
    assert pia("push", "-", "--name", "n.pdf", "--slug", "nightly", "--json", stdin=ONE).json["status"] == "unchanged"


@pytest.mark.parametrize(
    "argv",
    [
        ("report.pdf",),
        ("report.pdf", "--slug", ""),
        ("report.pdf", "--slug", "Not A Slug"),
        ("report.pdf", "--slug", "api"),
        ("missing.pdf", "--slug", "q3"),
        ("-", "--slug", "q3"),
        ("-", "--name", "a.pdf", "--manifest", "m.jsonl"),
    ],
)
def test_an_invalid_command_line_sends_nothing(
    api: FakeApi, shell: Shell, report: Path, argv: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(report.parent)
    done = shell("push", *argv)
    assert (done.code, done.out) == (2, "")
    assert api.requests == []


def test_a_dry_run_prints_the_requests_that_would_be_sent(world: World, pia: Shell, report: Path) -> None:
    assert pia("push", report, "--slug", "q3", "-n", "--json").json[0]["path"] == "/api/v1/files"
    assert list_files(world.pia) == []
    uuid = pia("push", report, "--slug", "q3", "--json").json["uuid"]
    assert pia("push", report, "--slug", "q3", "-n", "--json").json == []
    report.write_bytes(TWO)
    assert pia("push", report, "--slug", "q3", "-n", "--json").json[0]["path"] == f"/api/v1/files/{uuid}/content"
    assert get_content(world.pia, uuid) == ONE


def test_a_terminal_shows_action_and_version(pia: Shell, report: Path) -> None:
    pia.tty = True
    pia.env["NO_COLOR"] = "1"
    done = pia("push", report, "--slug", "q3")
    assert done.lines[0] == f"{BASE_URL}/q3"
    assert "created" in done.lines[1]
    assert "version 1" in done.lines[1]


def test_push_and_upload_share_one_manifest_format(pia: Shell, report: Path) -> None:
    made = pia("upload", report, "--manifest", "shared.jsonl", "--json").json
    assert pia("push", report, "--manifest", "shared.jsonl", "--json").json["uuid"] == made["uuid"]
    assert "skipped" in pia("upload", report, "--manifest", "shared.jsonl", "--json").json
    entry = json.loads(Path("shared.jsonl").read_text().splitlines()[0])
    assert entry["uuid"] == made["uuid"]


@pytest.fixture(autouse=True)
def _work_in_document_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_hint_of_a_slug_conflict_mentions_the_trash(world: World, pia: Shell, report: Path) -> None:
    made = pia("push", report, "--slug", "q3", "--json").json
    world.pia.delete(f"/api/v1/files/{made['uuid']}")
    done = pia("push", report, "--slug", "q3", "--json")
    assert (done.code, done.error["code"]) == (7, "conflict")
    for words in ("trash", "docshare files restore", "--purge"):
        assert words in done.error["hint"]


@pytest.mark.parametrize("command", [["push", "--slug", "q3"], ["serve"]])
def test_hints_only_name_options_of_the_command(shell: Shell, tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "notes.txt").write_text("no document")
    for path in (tmp_path, tmp_path / "notes.txt"):
        done = shell(*command, path)
        assert done.code == 2
        assert "-r " not in done.err
        assert "--no-check" not in done.err
