"""``docshare apply``: files are created and replaced as a YAML file describes, and a second run changes nothing."""

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
    build_yaml_with_settings,
    build_yaml_with_variants,
)
from tests.support.documents.office import make_docx
from tests.support.outside.fake_api import UUID, FakeApi, problem
from tests.support.people.cast import BASE_URL, World
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


def test_the_first_run_creates_everything_and_the_second_run_only_reads(
    apply_folder: ApplyFolder, world: World
) -> None:
    (apply_folder.folder / "secret.txt").write_text("correct horse\n")
    assert apply_folder.apply_and_list_actions(WHOLE) == [
        ("create", "file", "report.pdf"),
        ("update", "settings", "report.pdf"),
        ("create", "variant", "Ann Lee"),
        ("create", "variant", "Bo Quist"),
        ("create", "variant", "Cy"),
        ("create", "webhook", HOOK),
        ("create", "webhook", HOOK),
        ("create", "webhook", CHAT),
    ]
    file = apply_folder.only_file
    assert (file["slug"], file["viewerMode"], file["allowDownload"]) == ("q3", "flipbook", False)
    assert (file["viewLimit"], file["protected"], file["requireEmail"]) == (100, True, True)
    assert (file["gateDomains"], file["pageRange"]) == (["example.com"], {"from": 1, "to": 2})
    assert file["viewerSettings"]["brand"] == {"accentColor": "#336699"}
    assert file["viewerSettings"]["cta"] == {"label": "Go", "url": "https://example.com/"}
    assert {row["label"]: (row["revoked"], row.get("overrides") or {}) for row in apply_folder.variants} == {
        "Ann Lee": (False, {}),
        "Bo Quist": (False, {"allowDownload": True, "pageRange": {"from": 1, "to": 3}}),
        "Cy": (True, {"pageRange": {"from": 0, "to": 0}}),
    }
    assert sorted(len(hook["events"]) for hook in apply_folder.webhooks) == [1, 1, 9]
    for name in ("all.secret", "one.secret"):
        assert (apply_folder.folder / name).read_text().startswith("whsec_")
        assert (apply_folder.folder / name).stat().st_mode & 0o777 == 0o600
    world.clock.advance(days=3)
    assert (apply_folder.apply_and_list_actions(WHOLE), apply_folder.wire.seen) == ([], 0)
    assert apply_folder.only_file == file


def test_a_pipe_gets_the_actions_and_a_terminal_gets_the_diff(apply_folder: ApplyFolder) -> None:
    done = apply_folder(build_yaml_with_settings(slug="q3"))
    (file,) = apply_folder.files
    assert done.lines == [
        f"create\tfile\treport.pdf\treport.pdf\t{BASE_URL}/{file['shortId']}",
        "update\tsettings\treport.pdf\treport.pdf\t",
    ]
    assert done.err == "2 changes made\n"
    apply_folder.shell.tty = True
    done = apply_folder(build_yaml_with_settings(slug="q4", viewLimit=5, allowDownload=False), "--color=never")
    assert done.out == (
        '~ update settings report.pdf: slug "q3" → "q4", view limit none → 5, allowDownload true → false\n'
    )


# --- a dry run --------------------------------------------------------------------------------------------------------


def test_a_dry_run_prints_the_diff_and_sends_no_write(apply_folder: ApplyFolder) -> None:
    apply_folder(MINIMAL_YAML)
    before = apply_folder.state.read_text()
    apply_folder.write_document(TWO)
    done = apply_folder(build_yaml_with_settings(slug="q3", passwordFile="s.txt"), "--dry-run", "--json")
    assert done.code == 2  # the file does not exist
    (apply_folder.folder / "s.txt").write_text("correct horse")
    done = apply_folder(build_yaml_with_settings(slug="q3", passwordFile="s.txt"), "--dry-run", "--json")
    assert [(row["action"], row["kind"], row["done"]) for row in done.json] == [
        ("replace", "file", False),
        ("update", "settings", False),
    ]
    assert done.json[1]["changes"] == {
        "slug": {"from": None, "to": "q3"},
        "password": {"from": False, "to": "***"},
    }
    assert apply_folder.wire.seen == 0
    assert apply_folder.state.read_text() == before
    assert "correct horse" not in done.out + done.err


def test_check_exits_with_13_if_there_are_changes(apply_folder: ApplyFolder) -> None:
    assert apply_folder(MINIMAL_YAML, "--check").code == 13
    assert (apply_folder.wire.seen, apply_folder.state.exists()) == (0, False)
    apply_folder(MINIMAL_YAML)
    assert apply_folder(MINIMAL_YAML, "--check").code == 0


# --- files ------------------------------------------------------------------------------------------------------------


def test_a_changed_document_is_replaced_behind_its_link_with_yes(apply_folder: ApplyFolder) -> None:
    apply_folder(MINIMAL_YAML)
    first = apply_folder.only_file
    apply_folder.write_document(TWO)
    done = apply_folder(MINIMAL_YAML, "--json")
    assert (done.code, done.out, done.error["code"]) == (2, "", "confirmation")
    assert apply_folder.wire.seen == 0
    assert apply_folder.apply_and_list_actions(MINIMAL_YAML, "--yes") == [("replace", "file", "report.pdf")]
    assert (apply_folder.only_file["uuid"], apply_folder.only_file["contentVersion"]) == (first["uuid"], 2)
    assert (apply_folder.apply_and_list_actions(MINIMAL_YAML), apply_folder.wire.seen) == ([], 0)


def test_a_terminal_prompts_before_a_file_is_replaced(apply_folder: ApplyFolder) -> None:
    apply_folder(MINIMAL_YAML)
    apply_folder.write_document(TWO)
    apply_folder.shell.tty = True
    done = apply_folder.shell("apply", apply_folder.write_yaml(MINIMAL_YAML), stdin=b"n\n")
    assert (done.code, apply_folder.only_file["contentVersion"]) == (2, 1)
    assert "\x1b[33m~ replace file report.pdf\x1b[0m\n" in done.err
    assert "Replace file report.pdf? [y/N]" in done.err
    assert apply_folder.shell("apply", apply_folder.write_yaml(MINIMAL_YAML), stdin=b"y\n").code == 0
    assert apply_folder.only_file["contentVersion"] == 2


@pytest.mark.parametrize("text", [MINIMAL_YAML, build_yaml_with_settings(slug="q3")], ids=["by name", "by slug"])
def test_a_fresh_checkout_without_a_state_finds_its_files(apply_folder: ApplyFolder, text: str) -> None:
    apply_folder(text)
    apply_folder.state.unlink()
    assert (apply_folder.apply_and_list_actions(text), apply_folder.wire.seen) == ([], 0)
    assert json.loads(apply_folder.state.read_text())["files"]["report.pdf"]["uuid"] == apply_folder.only_file["uuid"]


def test_an_ambiguous_file_name_requires_a_uuid_in_the_yaml_file(apply_folder: ApplyFolder) -> None:
    apply_folder.person.upload(ONE)
    second = apply_folder.person.upload(ONE)["uuid"]
    done = apply_folder(MINIMAL_YAML, "--json")
    assert (done.code, apply_folder.wire.seen) == (2, 0)
    assert second in done.error["detail"]
    assert apply_folder.apply_and_list_actions(f"files: [{{path: report.pdf, uuid: {second}}}]") == []
    assert json.loads(apply_folder.state.read_text())["files"]["report.pdf"]["uuid"] == second


def test_a_new_slug_does_not_match_a_file_that_only_has_the_same_name(apply_folder: ApplyFolder) -> None:
    apply_folder.person.upload(TWO)
    assert apply_folder.apply_and_list_actions(build_yaml_with_settings(slug="q3"))[0] == (
        "create",
        "file",
        "report.pdf",
    )
    assert len(apply_folder.files) == 2


def test_changing_slug_or_key_does_not_create_a_new_file(apply_folder: ApplyFolder) -> None:
    apply_folder(build_yaml_with_settings(slug="q3"))
    first = apply_folder.only_file["uuid"]
    assert apply_folder.apply_and_list_actions(build_yaml_with_settings(slug="q4")) == [
        ("update", "settings", "report.pdf")
    ]
    renamed = "files: [{path: report.pdf, key: new, settings: {slug: q4}}]"
    assert (apply_folder.apply_and_list_actions(renamed), apply_folder.only_file["uuid"]) == ([], first)
    assert list(json.loads(apply_folder.state.read_text())["files"]) == ["new"]


def test_one_document_can_be_two_files_with_different_keys(apply_folder: ApplyFolder) -> None:
    text = "files: [{path: report.pdf, key: a, settings: {slug: a}}, {path: report.pdf, key: b, settings: {slug: b}}]"
    assert len(apply_folder.apply_and_list_actions(text)) == 4
    assert (apply_folder.apply_and_list_actions(text), {file["slug"] for file in apply_folder.files}) == (
        [],
        {"a", "b"},
    )


def test_a_file_that_was_deleted_by_hand_is_created_again(apply_folder: ApplyFolder) -> None:
    apply_folder(build_yaml_with_variants({"label": "Ann"}))
    apply_folder.person.delete(f"/api/v1/files/{apply_folder.only_file['uuid']}")
    assert apply_folder.apply_and_list_actions(build_yaml_with_variants({"label": "Ann"})) == [
        ("create", "file", "report.pdf"),
        ("create", "variant", "Ann"),
    ]
    assert (
        apply_folder.apply_and_list_actions(build_yaml_with_variants({"label": "Ann"})),
        apply_folder.wire.seen,
    ) == (
        [],
        0,
    )


def prepare_converted_file(folder: Path, **state: str) -> dict[str, Any]:
    """Upload a Word document: write it to the state, and return the file as the server reports it."""
    (folder / "talk.docx").write_bytes(make_docx("Hello"))
    (folder / "share.yaml").write_text("version: 1\nfiles: [{path: talk.docx}]")
    digest = hashlib.sha256((folder / "talk.docx").read_bytes()).hexdigest()
    row = {"uuid": UUID.format(1), "originalName": "talk.pdf", "sha256": "0" * 64, "contentVersion": 1}
    entry = {"uuid": row["uuid"], "sha256": digest, "contentVersion": 1} | state
    whole = {"version": 1, "files": {"talk.docx": entry}, "webhooks": {}}
    (folder / "share.state.json").write_text(json.dumps(whole))
    return row


def test_the_hash_of_a_converted_document_is_known_only_to_the_state(
    api: FakeApi, shell: Shell, tmp_path: Path
) -> None:
    api.on("GET", "/user", {"uuid": "u", "tier": "pro"})
    api.on("GET", "/files", [prepare_converted_file(tmp_path)])
    assert shell("apply", tmp_path / "share.yaml", "-n", "--json").json == []
    prepare_converted_file(tmp_path, sha256="1" * 64)
    (row,) = shell("apply", tmp_path / "share.yaml", "-n", "--json").json
    assert (row["action"], row["kind"]) == ("replace", "file")
    (tmp_path / "share.state.json").unlink()
    (row,) = shell("apply", tmp_path / "share.yaml", "-n", "--json").json
    assert (row["action"], row["kind"]) == ("replace", "file")  # found by its name; its bytes are unknown


def test_a_credential_without_the_profile_scope_is_sufficient(api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    api.on("GET", "/user", problem(403, "insufficient_scope"))
    api.on("GET", "/files", [prepare_converted_file(tmp_path)])
    assert shell("apply", tmp_path / "share.yaml").code == 0
    assert "account" not in json.loads((tmp_path / "share.state.json").read_text())
