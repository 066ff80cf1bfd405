"""``docshare upload`` with settings: they are written before the link is printed, or the failure is reported."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands.fakes.uploads import FakeUploads, share_url
from tests.support.documents.pdfs import simple_pdf
from tests.support.outside.fake_api import UUID, FakeApi, problem
from tests.support.people.cast import Person, World
from tests.support.shell import Shell

MakeShell = Callable[[Person], Shell]

ONE = UUID.format(1)


@pytest.fixture
def settings_api(api: FakeApi, fake_uploads: FakeUploads) -> FakeApi:
    """Accept uploads and the settings of the first two files."""
    for number in (1, 2):
        api.on("PUT", f"/files/{UUID.format(number)}/settings", b"")
        api.on("DELETE", f"/files/{UUID.format(number)}", {"trashed": False})
    return api


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "my secret.txt"
    path.write_text("geheim\n")
    return path


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """Create a PDF of three pages that a real server accepts."""
    path = tmp_path / "report.pdf"
    path.write_bytes(simple_pdf(pages=3))
    return path


def list_written_settings(api: FakeApi, number: int = 1) -> list[Any]:
    return [json.loads(heard.body) for heard in api.list_requests("PUT", f"/files/{UUID.format(number)}/settings")]


# --- on a real server ------------------------------------------------------------------------------------------------


def test_a_new_file_with_an_email_domain_requires_an_email_address(
    shell_for: MakeShell, world: World, report: Path
) -> None:
    pia = shell_for(world.pia)
    asking = pia("upload", report, "--email-domain", "a.org", "--json")
    assert world.pia.get(f"/api/v1/files/{asking.json['uuid']}").get_json()["requireEmail"] is True
    assert asking.err == ""
    assert "have no effect" in pia("upload", report, "--email-domain", "a.org", "--no-require-email").err


def test_a_new_file_has_the_settings_of_the_command_line(
    shell_for: MakeShell, world: World, report: Path, secret: Path
) -> None:
    pia = shell_for(world.pia)
    done = pia("upload", report, "--slug", "q3", "--expires", "7d", "--views", "9", "--pages", "1-2", "--no-download",
               "--password-file", secret, "--mode", "swipe", "--hide-expiry", "--email-domain", "a.org", "--notify",
               "--receipt", "--require-email", "--watermark", "--set", "flip.rtl=true", "--json")  # fmt: skip
    assert (done.code, done.err) == (0, "")
    assert done.json["settingsApplied"] is True
    shown = world.pia.get(f"/api/v1/files/{done.json['uuid']}").get_json()
    assert {
        "slug": "q3", "deleteAt": "2026-09-28T14:13:20.000Z", "viewLimit": 9, "pageRange": {"from": 1, "to": 2},
        "allowDownload": False, "protected": True, "viewerMode": "swipe", "showExpiry": False,
        "gateDomains": ["a.org"], "notifyOnView": True, "askReceipt": True, "requireEmail": True, "watermark": True,
        "viewerSettings": {"flip": {"rtl": True}},
    }.items() <= shown.items()  # fmt: skip


def test_the_command_printed_after_a_failure_writes_the_settings(
    shell_for: MakeShell, world: World, report: Path, secret: Path
) -> None:
    pia = shell_for(world.pia)
    assert pia("upload", report, "--slug", "taken").code == 0
    done = pia("upload", report, "--slug", "taken", "--expires", "7d", "--views", "3", "--pages", "1-2",
               "--email-domain", "a.org", "--set", "cta.label=Don't wait", "--set", "cta.url=https://x.example/?a=b",
               "--set", "flip.speedMs=300", "--password-file", secret)  # fmt: skip
    assert (done.code, done.out) == (12, "")
    line = done.err.strip().partition("Set them with: docshare ")[2]
    assert "geheim" not in done.err
    words = ["slug=free" if word == "slug=taken" else word for word in shlex.split(line)]
    assert pia(*words, "--strict").code == 0
    shown = world.pia.get(f"/api/v1/files/{words[2]}").get_json()
    assert {
        "slug": "free", "deleteAt": "2026-09-28T14:13:20.000Z", "viewLimit": 3, "pageRange": {"from": 1, "to": 2},
        "gateDomains": ["a.org"], "protected": True,
        "viewerSettings": {
            "flip": {"speedMs": 300}, "cta": {"label": "Don't wait", "url": "https://x.example/?a=b"},
        },
    }.items() <= shown.items()  # fmt: skip


def test_a_plan_that_is_too_low_is_reported_before_anything_is_sent(
    shell_for: MakeShell, world: World, report: Path
) -> None:
    fay = shell_for(world.fay)
    done = fay("upload", report, "--slug", "x", "--views", "3", "--mode", "swipe", "--json")
    assert (done.code, done.out, done.error["code"]) == (6, "", "plan_required")
    assert "viewLimit: basic; slug: pro" in done.error["hint"]
    assert world.fay.get("/api/v1/files").get_json() == []
    assert fay("upload", report, "--mode", "swipe", "--expires", "7d").code == 0


def test_rollback_leaves_no_file_behind(shell_for: MakeShell, world: World, report: Path) -> None:
    pia = shell_for(world.pia)
    done = pia("upload", report, "--pages", "1-9", "--rollback")
    assert (done.code, done.out) == (9, "")
    assert "it was deleted" in done.err
    assert world.pia.get("/api/v1/files").get_json() == []


# --- output ----------------------------------------------------------------------------------------------------------


def test_a_pipe_gets_the_link_after_the_settings_are_written(settings_api: FakeApi, shell: Shell, deck: Path) -> None:
    done = shell("upload", deck, "--no-download", "--expires", "7d")
    assert (done.code, done.out, done.err) == (0, f"{share_url(1)}\n", "")
    assert list_written_settings(settings_api) == [{"allowDownload": False, "deleteAt": "2026-09-28T14:13:20.000Z"}]


def test_a_terminal_shows_expiry_password_and_other_settings(
    settings_api: FakeApi, shell: Shell, deck: Path, secret: Path
) -> None:
    from docshare.cli.terminal.text import format_local_time

    shell.tty = True
    expiry = format_local_time(1_790_000_000_000 + 7 * 86_400_000)
    done = shell("upload", deck, "--expires", "7d", "--slug", "q3", "--password-file", secret, "--no-color")
    assert done.lines == [
        "https://d.example/q3",
        f'deck.pdf · 1 kB · aB3dE5fG7h01 · expires {expiry} (7 days) · password set · settings: slug "q3"',
    ]  # fmt: skip
    assert shell("upload", deck, "--no-download", "--no-color").lines[1] == (
        "deck.pdf · 1 kB · aB3dE5fG7h02 · never expires · no password · settings: allowDownload false"
    )


def test_settings_are_read_from_a_file(settings_api: FakeApi, shell: Shell, deck: Path, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text("viewLimit = 3\n[flip]\nrtl = true\n")
    assert shell("upload", deck, "--settings", tmp_path / "s.toml", "--views", "4").code == 0
    assert list_written_settings(settings_api) == [{"viewLimit": 4, "viewerSettings": {"flip": {"rtl": True}}}]


def test_settings_are_written_to_each_of_several_files(
    settings_api: FakeApi, shell: Shell, deck: Path, tmp_path: Path
) -> None:
    (tmp_path / "b.pdf").write_bytes(deck.read_bytes())
    done = shell("upload", deck, tmp_path / "b.pdf", "--no-download", "--json", "--jobs", "2")
    assert [row["settingsApplied"] for row in done.json] == [True, True]
    assert (
        list_written_settings(settings_api, 1) == list_written_settings(settings_api, 2) == [{"allowDownload": False}]
    )


# --- failures --------------------------------------------------------------------------------------------------------


def test_a_file_whose_settings_fail_is_not_deleted_and_exits_with_12(
    settings_api: FakeApi, shell: Shell, deck: Path, secret: Path
) -> None:
    settings_api.on("PUT", f"/files/{ONE}/settings", problem(409, "conflict", "taken"))
    done = shell("upload", deck, "--slug", "q3", "--password-file", secret)
    assert (done.code, done.out) == (12, "")
    assert "error: uploaded as aB3dE5fG7h01, but its settings were not written: taken" in done.err
    assert f"docshare settings set aB3dE5fG7h01 slug=q3 --password-file '{secret}'" in done.err
    assert settings_api.list_requests("DELETE", f"/files/{ONE}") == []


def test_json_contains_an_uploaded_file_whose_settings_failed(settings_api: FakeApi, shell: Shell, deck: Path) -> None:
    settings_api.on("PUT", f"/files/{ONE}/settings", problem(410, "gone"))
    done = shell("upload", deck, "--no-download", "--json")
    assert (done.code, done.json["uuid"], done.json["settingsApplied"]) == (12, ONE, False)
    assert done.error["exit"] == 12


def test_the_printed_command_prompts_for_a_password_that_came_from_stdin(
    settings_api: FakeApi, shell: Shell, deck: Path
) -> None:
    settings_api.on("PUT", f"/files/{ONE}/settings", problem(503, "unavailable", Retry_After="900"))
    done = shell("upload", deck, "--password-file", "-", stdin=b"geheim")
    assert done.code == 12
    assert "docshare settings set aB3dE5fG7h01 --password-prompt" in done.err


def test_a_file_whose_settings_fail_is_reported_among_several(
    settings_api: FakeApi, shell: Shell, deck: Path, tmp_path: Path
) -> None:
    (tmp_path / "b.pdf").write_bytes(deck.read_bytes())
    settings_api.on("PUT", f"/files/{ONE}/settings", problem(400, "bad_request", "no"))
    done = shell("upload", deck, tmp_path / "b.pdf", "--no-download")
    assert (done.code, done.out) == (12, f"{share_url(2)}\n")
    assert f"error: {deck}: uploaded as aB3dE5fG7h01, but its settings were not written: no" in done.err


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_json_of_several_files_contains_the_error_of_the_failed_one(
    settings_api: FakeApi, shell: Shell, deck: Path, tmp_path: Path, form: str
) -> None:
    (tmp_path / "b.pdf").write_bytes(deck.read_bytes())
    settings_api.on("PUT", f"/files/{ONE}/settings", problem(400, "bad_request", "no"))
    done = shell("upload", deck, tmp_path / "b.pdf", "--no-download", "--format", form)
    first, second = done.json if form == "json" else done.rows
    assert (done.code, first["uuid"], first["settingsApplied"], first["error"]["exit"]) == (12, ONE, False, 12)
    assert (second["settingsApplied"], "error" in second) == (True, False)


def test_an_error_that_affects_every_file_stops_the_run(
    settings_api: FakeApi, shell: Shell, deck: Path, tmp_path: Path, fake_uploads: FakeUploads
) -> None:
    (tmp_path / "b.pdf").write_bytes(deck.read_bytes())
    settings_api.on("GET", "/user", problem(403, "insufficient_scope"))
    settings_api.on("PUT", f"/files/{ONE}/settings", problem(403, "plan_required", "requires the basic plan"))
    done = shell("upload", deck, tmp_path / "b.pdf", "--views", "3")
    assert (done.code, done.out, len(fake_uploads.uploads)) == (12, "", 1)
    assert "viewLimit: basic" in done.err
    assert "1 of 2 files were not attempted" in done.err


def test_a_file_whose_settings_fail_is_not_in_the_manifest(
    settings_api: FakeApi, shell: Shell, deck: Path, tmp_path: Path
) -> None:
    settings_api.on("PUT", f"/files/{ONE}/settings", problem(400, "bad_request"))
    assert shell("upload", deck, "--no-download", "--manifest", tmp_path / "m.jsonl").code == 12
    assert not (tmp_path / "m.jsonl").exists()


def test_rollback_purges_the_file_and_exits_with_the_code_of_the_error(
    settings_api: FakeApi, shell: Shell, deck: Path
) -> None:
    settings_api.on("PUT", f"/files/{ONE}/settings", problem(409, "conflict", "taken"))
    done = shell("upload", deck, "--slug", "q3", "--rollback", "--json")
    assert (done.code, done.out) == (7, "")
    assert [heard.query for heard in settings_api.list_requests("DELETE", f"/files/{ONE}")] == [{"purge": "1"}]


def test_a_failed_rollback_reports_that_the_file_still_exists(settings_api: FakeApi, shell: Shell, deck: Path) -> None:
    settings_api.on("PUT", f"/files/{ONE}/settings", problem(409, "conflict", "taken"))
    settings_api.on("DELETE", f"/files/{ONE}", problem(403, "forbidden"))
    done = shell("upload", deck, "--slug", "q3", "--rollback")
    assert done.code == 12
    assert "uploaded as aB3dE5fG7h01" in done.err


def test_files_uploaded_earlier_keep_their_settings_with_a_warning(
    settings_api: FakeApi, shell: Shell, deck: Path, tmp_path: Path
) -> None:
    assert shell("upload", deck, "--manifest", tmp_path / "m.jsonl").code == 0
    done = shell("upload", deck, "--manifest", tmp_path / "m.jsonl", "--no-download")
    assert (done.code, done.out, list_written_settings(settings_api)) == (0, f"{share_url(1)}\n", [])
    assert done.err == "warning: 1 of 1 files already existed and keep their settings\n"


# --- local checks ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--set", "password=abc"], "--password-file"),
        (["--views", "-1"], "from 0 to 1000000"),
        (["--set", "flip.speedMs=1"], "from 200 to 1200"),
        (["--expires", "2020-01-01"], "is in the past"),
        (["--pages", "9-1"], "pages 9-1: the first page comes after the last"),
        (["--settings", "/nowhere.json"], "--settings: cannot read"),
        (["--rollback"], "--rollback requires settings"),
        (["--set", "cta.label=x"], "cta must have url"),
        (["--slug", "q3", "{deck}2"], "--slug requires exactly one path"),
        (["--password-file", "-", "--settings", "-"], "only one value can come from stdin"),
    ],
)
def test_an_invalid_setting_exits_with_2_and_uploads_nothing(
    settings_api: FakeApi, shell: Shell, deck: Path, words: list[str], named: str
) -> None:
    deck.with_name("deck.pdf2").write_bytes(deck.read_bytes())
    done = shell("upload", deck, *(word.replace("{deck}", str(deck)) for word in words))
    assert (done.code, done.out) == (2, "")
    assert named in done.err
    assert settings_api.requests == []


def test_a_document_and_a_password_cannot_both_be_read_from_stdin(settings_api: FakeApi, shell: Shell) -> None:
    done = shell("upload", "-", "--name", "a.pdf", "--password-file", "-", stdin=b"%PDF-1.7\n")
    assert done.code == 2
    assert settings_api.requests == []


def test_a_dry_run_prints_both_requests_without_the_password(
    settings_api: FakeApi, shell: Shell, deck: Path, secret: Path
) -> None:
    done = shell("upload", deck, "--password-file", secret, "--slug", "q3", "-n")
    assert done.lines == [
        "POST\t/api/v1/files\tfile=deck.pdf (1024 bytes)",
        'PUT\t/api/v1/files/{uuid}/settings\t{"slug": "q3", "password": "***"}',
    ]
    assert settings_api.requests == []
