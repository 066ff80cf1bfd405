"""``docshare apply``: variants and webhooks, --prune, and recovery after a failure."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

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
    build_yaml_with_webhook,
)
from tests.support.people.cast import Person, World
from tests.support.shell import Shell

MakeShell = Callable[[Person], Shell]


# --- variants ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        ({}, {"allowDownload": False}, {"allowDownload": False}),
        ({"allowDownload": False}, {"allowDownload": True}, {"allowDownload": True}),
        ({"readerChoice": False}, {"readerChoice": True}, {"readerChoice": True}),
        ({"pageRange": "1-2"}, {"pageRange": {"from": 2, "to": 3}}, {"pageRange": {"from": 2, "to": 3}}),
        ({"pageRange": 2}, {"pageRange": "all"}, {"pageRange": {"from": 0, "to": 0}}),
        ({"pageRange": "1-2", "allowDownload": False}, {}, {}),
    ],
)
def test_the_overrides_of_a_variant_are_exactly_those_in_the_file(
    apply_folder: ApplyFolder, first: dict[str, object], second: dict[str, object], kept: dict[str, object]
) -> None:
    apply_folder(build_yaml_with_variants({"label": "Ann", **first}))
    (before,) = apply_folder.variants
    assert apply_folder.apply_and_list_actions(build_yaml_with_variants({"label": "Ann", **second})) == [
        ("update", "variant", "Ann")
    ]
    (after,) = apply_folder.variants
    assert (after["uuid"], after.get("overrides") or {}) == (before["uuid"], kept)
    assert (
        apply_folder.apply_and_list_actions(build_yaml_with_variants({"label": "Ann", **second})),
        apply_folder.wire.seen,
    ) == ([], 0)


def test_a_revoked_variant_stays_revoked_unless_the_file_sets_revoked(apply_folder: ApplyFolder) -> None:
    apply_folder(build_yaml_with_variants({"label": "Ann"}))
    (ann,) = apply_folder.variants
    apply_folder.person.put(
        f"/api/v1/files/{apply_folder.only_file['uuid']}/variants/{ann['uuid']}", json={"revoked": True}
    )
    done = apply_folder(build_yaml_with_variants({"label": "Ann"}))
    assert (done.code, apply_folder.wire.seen) == (0, 0)
    assert "the link of Ann stays revoked" in done.err
    assert apply_folder.apply_and_list_actions(build_yaml_with_variants({"label": "Ann", "revoked": False})) == [
        ("update", "variant", "Ann")
    ]
    assert (
        apply_folder(build_yaml_with_variants({"label": "Ann", "revoked": True})).code == 2
    )  # it revokes the access of a reader
    assert apply_folder.apply_and_list_actions(
        build_yaml_with_variants({"label": "Ann", "revoked": True}), "--yes"
    ) == [("update", "variant", "Ann")]
    assert [row["revoked"] for row in apply_folder.variants] == [True]


def test_a_label_that_was_changed_by_hand_is_changed_back(apply_folder: ApplyFolder) -> None:
    apply_folder(build_yaml_with_variants({"label": "Ann"}))
    (ann,) = apply_folder.variants
    apply_folder.person.put(
        f"/api/v1/files/{apply_folder.only_file['uuid']}/variants/{ann['uuid']}", json={"label": "Bo"}
    )
    assert apply_folder.apply_and_list_actions(build_yaml_with_variants({"label": "Ann"})) == [
        ("update", "variant", "Ann")
    ]
    assert [(row["uuid"], row["label"]) for row in apply_folder.variants] == [(ann["uuid"], "Ann")]


def test_a_redacted_label_is_not_restored(apply_folder: ApplyFolder) -> None:
    apply_folder(build_yaml_with_variants({"label": "Ann"}))
    (ann,) = apply_folder.variants
    apply_folder.person.delete(f"/api/v1/files/{apply_folder.only_file['uuid']}/variants/{ann['uuid']}?redact=1")
    done = apply_folder(build_yaml_with_variants({"label": "Ann"}))
    assert (done.code, apply_folder.wire.seen) == (0, 0)
    assert "was redacted" in done.err


def test_a_variant_that_was_created_by_hand_is_matched_by_its_label(apply_folder: ApplyFolder) -> None:
    apply_folder(MINIMAL_YAML)
    made = apply_folder.person.post(
        f"/api/v1/files/{apply_folder.only_file['uuid']}/variants", json={"label": "Ann"}
    ).get_json()
    assert apply_folder.apply_and_list_actions(build_yaml_with_variants({"label": "Ann"})) == []
    assert [row["uuid"] for row in apply_folder.variants] == [made["uuid"]]


# --- webhooks ---------------------------------------------------------------------------------------------------------


def test_changed_events_recreate_a_webhook_with_a_new_secret(apply_folder: ApplyFolder) -> None:
    apply_folder(build_yaml_with_webhook("file.viewed"))
    (old,), secret = apply_folder.webhooks, (apply_folder.folder / "hook.secret").read_text()
    assert (
        apply_folder(build_yaml_with_webhook("file.viewed", "file.burned")).code == 2
    )  # the receiver needs the new secret
    assert apply_folder.apply_and_list_actions(build_yaml_with_webhook("file.viewed", "file.burned"), "--yes") == [
        ("replace", "webhook", HOOK)
    ]
    (new,) = apply_folder.webhooks
    assert (new["uuid"] == old["uuid"], sorted(new["events"])) == (False, ["file.burned", "file.viewed"])
    assert (apply_folder.folder / "hook.secret").read_text() not in ("", secret)
    assert (
        apply_folder.apply_and_list_actions(build_yaml_with_webhook("file.burned", "file.viewed")),
        apply_folder.wire.seen,
    ) == ([], 0)


def test_a_secret_file_that_may_belong_to_another_webhook_is_not_overwritten(apply_folder: ApplyFolder) -> None:
    (apply_folder.folder / "hook.secret").write_text("mine")
    done = apply_folder(build_yaml_with_webhook("file.viewed"))
    assert (done.code, apply_folder.wire.seen, (apply_folder.folder / "hook.secret").read_text()) == (2, 0, "mine")


def test_a_webhook_that_was_deleted_by_hand_is_created_again(apply_folder: ApplyFolder) -> None:
    apply_folder(build_yaml_with_webhook("file.viewed"))
    apply_folder.person.delete(f"/api/v1/webhooks/{apply_folder.webhooks[0]['uuid']}")
    assert apply_folder.apply_and_list_actions(build_yaml_with_webhook("file.viewed")) == [("create", "webhook", HOOK)]
    assert len(apply_folder.webhooks) == 1


def test_a_fresh_checkout_does_not_create_a_second_webhook(apply_folder: ApplyFolder) -> None:
    apply_folder(build_yaml_with_webhook("file.viewed", file="report.pdf"))
    apply_folder.state.unlink()
    (apply_folder.folder / "hook.secret").unlink()
    done = apply_folder(build_yaml_with_webhook("file.viewed", file="report.pdf"))
    assert (done.code, apply_folder.wire.seen, len(apply_folder.webhooks)) == (0, 0, 1)
    assert "a secret is shown only once" in done.err


# --- pruning ----------------------------------------------------------------------------------------------------------

MANY = f"""
files:
  - {{path: report.pdf, variants: [{{label: Ann}}, {{label: Bo}}]}}
  - {{path: other.pdf}}
webhooks:
  - {{url: "{HOOK}", events: all, secretFile: hook.secret}}
  - {{url: "{CHAT}", events: all, format: slack}}
"""
FEW = f"""
files:
  - {{path: report.pdf, variants: [{{label: Ann}}]}}
webhooks:
  - {{url: "{CHAT}", events: all, format: slack}}
"""


def test_prune_removes_only_resources_that_were_removed_from_the_file(apply_folder: ApplyFolder) -> None:
    """Resources that were created by other means stay, and a file is only moved to the trash."""
    apply_folder.write_document(TWO, "other.pdf")
    apply_folder(MANY)
    by_hand = apply_folder.person.upload(ONE, "hand.pdf")["uuid"]
    report = next(file["uuid"] for file in apply_folder.files if file["originalName"] == "report.pdf")
    apply_folder.person.post(f"/api/v1/files/{report}/variants", json={"label": "Hand"})
    apply_folder.person.post("/api/v1/webhooks", json={"url": HOOK + "/hand", "events": ["file.viewed"]})
    told = apply_folder(FEW)
    assert (told.code, apply_folder.wire.seen) == (0, 0)
    assert "3 resources are no longer in share.yaml; --prune removes them" in told.err
    assert apply_folder(FEW, "--prune").code == 2
    assert apply_folder.wire.seen == 0
    assert apply_folder.apply_and_list_actions(FEW, "--prune", "--yes") == [
        ("delete", "webhook", HOOK),
        ("delete", "variant", "Bo"),
        ("delete", "file", "other.pdf"),
    ]
    assert {file["uuid"] for file in apply_folder.files} == {report, by_hand}
    labels = apply_folder.person.get(f"/api/v1/files/{report}/variants").get_json()["variants"]
    assert {row["label"] for row in labels} == {"Ann", "Hand"}
    assert {hook["url"] for hook in apply_folder.webhooks} == {CHAT, HOOK + "/hand"}
    told = apply_folder(FEW, "--prune")
    assert (told.err, apply_folder.wire.seen) == ("no changes\n", 0)


def test_prune_ignores_resources_that_are_already_deleted(apply_folder: ApplyFolder) -> None:
    apply_folder.write_document(TWO, "other.pdf")
    apply_folder(MANY)
    for file in apply_folder.files:
        if file["originalName"] == "other.pdf":
            apply_folder.person.delete(f"/api/v1/files/{file['uuid']}")
    (bo,) = (row for row in apply_folder.variants if row["label"] == "Bo")
    apply_folder.person.delete(f"/api/v1/files/{apply_folder.only_file['uuid']}/variants/{bo['uuid']}")
    (hook,) = (row for row in apply_folder.webhooks if row["url"] == HOOK)
    apply_folder.person.delete(f"/api/v1/webhooks/{hook['uuid']}")
    told = apply_folder(FEW, "--prune")
    assert (told.code, told.err, apply_folder.wire.seen) == (0, "no changes\n", 0)


def test_prune_keeps_a_file_whose_key_changed(apply_folder: ApplyFolder) -> None:
    apply_folder(build_yaml_with_settings(slug="q3"))
    assert (
        apply_folder.apply_and_list_actions("files: [{path: report.pdf, key: new, settings: {slug: q3}}]", "--prune")
        == []
    )
    assert apply_folder.only_file["slug"] == "q3"


def test_prune_keeps_a_file_that_is_listed_by_its_uuid(apply_folder: ApplyFolder) -> None:
    apply_folder.write_document(TWO, "other.pdf")
    apply_folder("files: [{path: report.pdf}, {path: other.pdf}]")
    other = next(file["uuid"] for file in apply_folder.files if file["originalName"] == "other.pdf")
    text = f"files: [{{path: report.pdf, uuid: {other}}}]"
    assert apply_folder.apply_and_list_actions(text, "--prune", "--yes") == [("replace", "file", "report.pdf")]
    assert len(apply_folder.files) == 2


# --- failures ---------------------------------------------------------------------------------------------------------


def test_a_failure_halfway_exits_with_12_and_the_next_run_resumes(apply_folder: ApplyFolder) -> None:
    other = apply_folder.person.upload(TWO, "other.pdf")["uuid"]
    apply_folder.person.put(f"/api/v1/files/{other}/settings", json={"slug": "q3"})
    apply_folder.person.delete(f"/api/v1/files/{other}")  # a file in the trash keeps its slug
    text = "files: [{path: report.pdf, settings: {slug: q3}, variants: [{label: Ann}]}]"
    done = apply_folder(text, "--json")
    assert (done.code, [row["done"] for row in done.json]) == (12, [True, False])
    assert done.json[1]["error"]["code"] == "conflict"
    apply_folder.person.delete(f"/api/v1/files/{other}?purge=1")
    assert apply_folder.apply_and_list_actions(text) == [
        ("update", "settings", "report.pdf"),
        ("create", "variant", "Ann"),
    ]
    assert (apply_folder.apply_and_list_actions(text), len(apply_folder.files)) == ([], 1)


def test_a_failure_of_the_first_action_exits_with_its_own_code(apply_folder: ApplyFolder) -> None:
    apply_folder(MINIMAL_YAML)
    other = apply_folder.person.upload(TWO, "other.pdf")["uuid"]
    apply_folder.person.put(f"/api/v1/files/{other}/settings", json={"slug": "q3"})
    apply_folder.person.delete(f"/api/v1/files/{other}")
    done = apply_folder(build_yaml_with_settings(slug="q3"), "--json")
    assert (done.code, done.out, done.error["code"]) == (7, "", "conflict")


@pytest.mark.parametrize("lost", [1, 2, 3, 4])
def test_a_lost_response_creates_nothing_twice(apply_folder: ApplyFolder, world: World, lost: int) -> None:
    """For upload, settings, variant and webhook: the next run finds the resource or creates it once. The secret of a
    webhook is lost with its response, so that webhook is deleted and replaced by one whose secret is known."""
    world.clock.advance(days=36_500)  # new resources are newer than the Date header, however slow this machine is
    apply_folder.wire.loses = lambda n: n == lost
    hook = f"webhooks: [{{url: '{HOOK}', events: all, secretFile: hook.secret}}]"
    text = f"files: [{{path: report.pdf, settings: {{slug: q3}}, variants: [{{label: Ann}}]}}]\n{hook}"
    assert len(apply_folder.apply_and_list_actions(text)) == 4
    assert apply_folder.wire.lost == 1
    assert (
        apply_folder.only_file["slug"],
        [row["label"] for row in apply_folder.variants],
        len(apply_folder.webhooks),
    ) == ("q3", ["Ann"], 1)
    assert (apply_folder.folder / "hook.secret").read_text().startswith("whsec_")
    apply_folder.wire.loses = lambda n: False
    assert (apply_folder.apply_and_list_actions(text), apply_folder.wire.seen) == ([], 0)


def test_a_removal_whose_response_is_lost_still_counts(apply_folder: ApplyFolder) -> None:
    apply_folder.write_document(TWO, "other.pdf")
    apply_folder(MANY)
    apply_folder.wire.loses = lambda n: n in (1, 3, 5)  # each first response; the retry finds nothing to delete
    assert len(apply_folder.apply_and_list_actions(FEW, "--prune", "--yes")) == 3
    assert (
        apply_folder.wire.lost,
        len(apply_folder.files),
        len(apply_folder.variants),
        len(apply_folder.webhooks),
    ) == (3, 1, 1, 1)
    assert json.loads(apply_folder.state.read_text())["files"].keys() == {"report.pdf"}


# --- the state file ---------------------------------------------------------------------------------------------------


def test_the_state_of_another_account_or_server_is_rejected(
    apply_folder: ApplyFolder, shell_for: MakeShell, world: World, server_url: str
) -> None:
    apply_folder(MINIMAL_YAML)
    stranger = ApplyFolder(shell_for(world.mal), apply_folder.wire, world.mal, apply_folder.folder)
    done = stranger(MINIMAL_YAML, "--json")
    assert (done.code, apply_folder.wire.seen, stranger.files) == (2, 0, [])
    assert "another account" in done.error["detail"]
    apply_folder.shell.env["DOCSHARE_URL"] = server_url
    done = apply_folder(MINIMAL_YAML, "--json")
    assert done.code == 2
    assert apply_folder.wire.url in done.error["detail"]
    assert "--state F" in done.error["hint"]
    assert apply_folder(MINIMAL_YAML, "--state", str(apply_folder.folder / "second.json")).code == 0


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{",
        '{"version":1,"files":[],"webhooks":{}}',
        '{"version":1,"files":{"a":{}},"webhooks":{}}',
        '{"version":1,"files":{"a":{"uuid":"b","settings":[{}]}},"webhooks":{}}',
        '{"version":1,"files":{"a":{"uuid":"b","variants":{"c":[]}}},"webhooks":{}}',
    ],
)
def test_a_broken_state_file_is_rejected_and_not_changed(shell: Shell, tmp_path: Path, content: str) -> None:
    (tmp_path / "share.yaml").write_text("version: 1")
    state = tmp_path / "share.state.json"
    state.write_text(content)
    done = shell("apply", tmp_path / "share.yaml", "--json")
    assert (done.code, done.out, state.read_text()) == (2, "", content)
    assert "it is not a state file of docshare apply" in done.error["detail"]


def test_the_state_file_contains_no_secret(apply_folder: ApplyFolder) -> None:
    (apply_folder.folder / "secret.txt").write_text("correct horse")
    hook = {"url": HOOK, "events": "all", "secretFile": "hook.secret"}
    apply_folder(build_yaml_with_settings(passwordFile="secret.txt") + f"\nwebhooks: [{json.dumps(hook)}]")
    secret = (apply_folder.folder / "hook.secret").read_text().strip()
    assert not [
        word for word in ("correct horse", secret, apply_folder.person.key) if word in apply_folder.state.read_text()
    ]
