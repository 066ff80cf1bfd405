"""``docshare apply``: an account is brought to what a YAML file says, and a second run changes nothing."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands.apply.apply_folder import (
    CHAT,
    HOOK,
    MINIMAL_YAML,
    ONE,
    TWO,
    ApplyFolder,
    yaml_with_settings,
    yaml_with_variants,
)
from tests.support.cast import BASE_URL, World
from tests.support.fake_api import UUID, FakeApi, problem
from tests.support.office import make_docx
from tests.support.shell import Shell

WHOLE = """
files:
  - path: report.pdf
    settings:
      slug: q3
      viewerMode: flipbook
      deleteAt: 30d
      allowDownload: false
      viewLimit: 100
      passwordFile: secret.txt
      gateDomains: [Example.com]
      requireEmail: true
      pageRange: 1-2
      gateFields:
        - {key: mail, label: Your address, type: email, required: true}
      brand: {accentColor: "#336699"}
      flip.speedMs: 700
      viewerSettings: {cta: {label: Go, url: "https://example.com/"}}
    variants:
      - label: Ann Lee
      - {label: Bo Quist, allowDownload: true, pageRange: 1-3}
      - {label: Cy, revoked: true, pageRange: all}
webhooks:
  - {url: "http://127.0.0.1:9/d", events: all, secretFile: all.secret}
  - {url: "http://127.0.0.1:9/d", events: [file.viewed], file: report.pdf, secretFile: one.secret}
  - {url: "http://127.0.0.1:9/chat", events: [gate.completed], format: slack}
"""


def test_everything_is_made_and_a_second_run_sends_nothing_but_questions(site: ApplyFolder, world: World) -> None:
    (site.folder / "secret.txt").write_text("correct horse\n")
    assert site.done(WHOLE) == [
        ("create", "file", "report.pdf"),
        ("update", "settings", "report.pdf"),
        ("create", "variant", "Ann Lee"),
        ("create", "variant", "Bo Quist"),
        ("create", "variant", "Cy"),
        ("create", "webhook", HOOK),
        ("create", "webhook", HOOK),
        ("create", "webhook", CHAT),
    ]
    file = site.file
    assert (file["slug"], file["viewerMode"], file["allowDownload"]) == ("q3", "flipbook", False)
    assert (file["viewLimit"], file["protected"], file["requireEmail"]) == (100, True, True)
    assert (file["gateDomains"], file["pageRange"]) == (["example.com"], {"from": 1, "to": 2})
    assert file["viewerSettings"]["brand"] == {"accentColor": "#336699"}
    assert file["viewerSettings"]["cta"] == {"label": "Go", "url": "https://example.com/"}
    assert {row["label"]: (row["revoked"], row.get("overrides") or {}) for row in site.variants} == {
        "Ann Lee": (False, {}),
        "Bo Quist": (False, {"allowDownload": True, "pageRange": {"from": 1, "to": 3}}),
        "Cy": (True, {"pageRange": {"from": 0, "to": 0}}),
    }
    assert sorted(len(hook["events"]) for hook in site.hooks) == [1, 1, 9]
    for name in ("all.secret", "one.secret"):
        assert (site.folder / name).read_text().startswith("whsec_")
        assert (site.folder / name).stat().st_mode & 0o777 == 0o600
    world.clock.advance(days=3)
    assert (site.done(WHOLE), site.wire.seen) == ([], 0)
    assert site.file == file


def test_a_pipe_gets_the_actions_and_a_person_the_difference(site: ApplyFolder) -> None:
    done = site(yaml_with_settings(slug="q3"))
    (file,) = site.files
    assert done.lines == [
        f"create\tfile\treport.pdf\treport.pdf\t{BASE_URL}/{file['shortId']}",
        "update\tsettings\treport.pdf\treport.pdf\t",
    ]
    assert done.err == "2 changes made\n"
    site.shell.tty = True
    done = site(yaml_with_settings(slug="q4", viewLimit=5, allowDownload=False), "--color=never")
    assert done.out == (
        '~ update settings report.pdf: slug "q3" → "q4", view limit none → 5, allowDownload true → false\n'
    )


# --- a dry run --------------------------------------------------------------------------------------------------------


def test_a_dry_run_shows_the_difference_and_sends_no_write(site: ApplyFolder) -> None:
    site(MINIMAL_YAML)
    before = site.state.read_text()
    site.document(TWO)
    done = site(yaml_with_settings(slug="q3", passwordFile="s.txt"), "--dry-run", "--json")
    assert done.code == 2  # there is no such file
    (site.folder / "s.txt").write_text("correct horse")
    done = site(yaml_with_settings(slug="q3", passwordFile="s.txt"), "--dry-run", "--json")
    assert [(row["action"], row["kind"], row["done"]) for row in done.json] == [
        ("replace", "file", False),
        ("update", "settings", False),
    ]
    assert done.json[1]["changes"] == {
        "slug": {"from": None, "to": "q3"},
        "password": {"from": False, "to": "***"},
    }
    assert site.wire.seen == 0
    assert site.state.read_text() == before
    assert "correct horse" not in done.out + done.err


def test_check_ends_with_13_while_something_is_to_be_done(site: ApplyFolder) -> None:
    assert site(MINIMAL_YAML, "--check").code == 13
    assert (site.wire.seen, site.state.exists()) == (0, False)
    site(MINIMAL_YAML)
    assert site(MINIMAL_YAML, "--check").code == 0


# --- files ------------------------------------------------------------------------------------------------------------


def test_a_changed_document_is_replaced_behind_its_link_if_that_is_wanted(site: ApplyFolder) -> None:
    site(MINIMAL_YAML)
    first = site.file
    site.document(TWO)
    done = site(MINIMAL_YAML, "--json")
    assert (done.code, done.out, done.error["code"]) == (2, "", "confirmation")
    assert site.wire.seen == 0
    assert site.done(MINIMAL_YAML, "--yes") == [("replace", "file", "report.pdf")]
    assert (site.file["uuid"], site.file["contentVersion"]) == (first["uuid"], 2)
    assert (site.done(MINIMAL_YAML), site.wire.seen) == ([], 0)


def test_a_person_is_asked_before_something_is_replaced(site: ApplyFolder) -> None:
    site(MINIMAL_YAML)
    site.document(TWO)
    site.shell.tty = True
    done = site.shell("apply", site.write(MINIMAL_YAML), stdin=b"n\n")
    assert (done.code, site.file["contentVersion"]) == (2, 1)
    assert "\x1b[33m~ replace file report.pdf\x1b[0m\n" in done.err
    assert "Replace file report.pdf? [y/N]" in done.err
    assert site.shell("apply", site.write(MINIMAL_YAML), stdin=b"y\n").code == 0
    assert site.file["contentVersion"] == 2


@pytest.mark.parametrize("text", [MINIMAL_YAML, yaml_with_settings(slug="q3")], ids=["by name", "by slug"])
def test_a_fresh_checkout_knows_its_files(site: ApplyFolder, text: str) -> None:
    site(text)
    site.state.unlink()
    assert (site.done(text), site.wire.seen) == ([], 0)
    assert json.loads(site.state.read_text())["files"]["report.pdf"]["uuid"] == site.file["uuid"]


def test_of_two_files_of_one_name_the_yaml_file_must_say_which(site: ApplyFolder) -> None:
    site.person.upload(ONE)
    second = site.person.upload(ONE)["uuid"]
    done = site(MINIMAL_YAML, "--json")
    assert (done.code, site.wire.seen) == (2, 0)
    assert second in done.error["detail"]
    assert site.done(f"files: [{{path: report.pdf, uuid: {second}}}]") == []
    assert json.loads(site.state.read_text())["files"]["report.pdf"]["uuid"] == second


def test_a_new_slug_takes_no_file_that_only_shares_the_name(site: ApplyFolder) -> None:
    site.person.upload(TWO)
    assert site.done(yaml_with_settings(slug="q3"))[0] == ("create", "file", "report.pdf")
    assert len(site.files) == 2


def test_a_changed_slug_and_a_changed_key_are_no_new_file(site: ApplyFolder) -> None:
    site(yaml_with_settings(slug="q3"))
    first = site.file["uuid"]
    assert site.done(yaml_with_settings(slug="q4")) == [("update", "settings", "report.pdf")]
    renamed = "files: [{path: report.pdf, key: new, settings: {slug: q4}}]"
    assert (site.done(renamed), site.file["uuid"]) == ([], first)
    assert list(json.loads(site.state.read_text())["files"]) == ["new"]


def test_one_document_can_be_two_files_with_keys_of_their_own(site: ApplyFolder) -> None:
    text = "files: [{path: report.pdf, key: a, settings: {slug: a}}, {path: report.pdf, key: b, settings: {slug: b}}]"
    assert len(site.done(text)) == 4
    assert (site.done(text), {file["slug"] for file in site.files}) == ([], {"a", "b"})


def test_a_file_that_was_deleted_by_hand_is_shared_anew(site: ApplyFolder) -> None:
    site(yaml_with_variants({"label": "Ann"}))
    site.person.delete(f"/api/v1/files/{site.file['uuid']}")
    assert site.done(yaml_with_variants({"label": "Ann"})) == [
        ("create", "file", "report.pdf"),
        ("create", "variant", "Ann"),
    ]
    assert (site.done(yaml_with_variants({"label": "Ann"})), site.wire.seen) == ([], 0)


def prepare_converted_file(folder: Path, **state: str) -> dict[str, Any]:
    """A Word document that is shared, as the state knows it and as the server shows it."""
    (folder / "talk.docx").write_bytes(make_docx("Hello"))
    (folder / "share.yaml").write_text("version: 1\nfiles: [{path: talk.docx}]")
    digest = hashlib.sha256((folder / "talk.docx").read_bytes()).hexdigest()
    row = {"uuid": UUID.format(1), "originalName": "talk.pdf", "sha256": "0" * 64, "contentVersion": 1}
    entry = {"uuid": row["uuid"], "sha256": digest, "contentVersion": 1} | state
    whole = {"version": 1, "files": {"talk.docx": entry}, "webhooks": {}}
    (folder / "share.state.json").write_text(json.dumps(whole))
    return row


def test_of_a_converted_document_only_the_state_knows_the_bytes(api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    api.on("GET", "/user", {"uuid": "u", "tier": "pro"})
    api.on("GET", "/files", [prepare_converted_file(tmp_path)])
    assert shell("apply", tmp_path / "share.yaml", "-n", "--json").json == []
    prepare_converted_file(tmp_path, sha256="1" * 64)
    (row,) = shell("apply", tmp_path / "share.yaml", "-n", "--json").json
    assert (row["action"], row["kind"]) == ("replace", "file")
    (tmp_path / "share.state.json").unlink()
    (row,) = shell("apply", tmp_path / "share.yaml", "-n", "--json").json
    assert (row["action"], row["kind"]) == ("replace", "file")  # found by its name, and its bytes are unknown


def test_a_credential_that_may_not_ask_whose_it_is_will_do(api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    api.on("GET", "/user", problem(403, "insufficient_scope"))
    api.on("GET", "/files", [prepare_converted_file(tmp_path)])
    assert shell("apply", tmp_path / "share.yaml").code == 0
    assert "account" not in json.loads((tmp_path / "share.state.json").read_text())
