"""``docshare apply``: variants and webhooks, what --prune removes, and what a failure leaves."""

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
    yaml_with_settings,
    yaml_with_variants,
    yaml_with_webhook,
)
from tests.support.cast import Person, World
from tests.support.shell import Shell

MakeShell = Callable[[Person], Shell]


# --- variants ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        ({}, {"allowDownload": False}, {"allowDownload": False}),
        ({"allowDownload": False}, {"allowDownload": True}, {"allowDownload": True}),
        ({"pageRange": "1-2"}, {"pageRange": {"from": 2, "to": 3}}, {"pageRange": {"from": 2, "to": 3}}),
        ({"pageRange": 2}, {"pageRange": "all"}, {"pageRange": {"from": 0, "to": 0}}),
        ({"pageRange": "1-2", "allowDownload": False}, {}, {}),
    ],
)
def test_overrides_are_all_that_the_file_says(
    site: ApplyFolder, first: dict[str, object], second: dict[str, object], kept: dict[str, object]
) -> None:
    site(yaml_with_variants({"label": "Ann", **first}))
    (before,) = site.variants
    assert site.done(yaml_with_variants({"label": "Ann", **second})) == [("update", "variant", "Ann")]
    (after,) = site.variants
    assert (after["uuid"], after.get("overrides") or {}) == (before["uuid"], kept)
    assert (site.done(yaml_with_variants({"label": "Ann", **second})), site.wire.seen) == ([], 0)


def test_a_link_that_somebody_revoked_stays_so_unless_the_file_speaks_of_it(site: ApplyFolder) -> None:
    site(yaml_with_variants({"label": "Ann"}))
    (ann,) = site.variants
    site.person.put(f"/api/v1/files/{site.file['uuid']}/variants/{ann['uuid']}", json={"revoked": True})
    done = site(yaml_with_variants({"label": "Ann"}))
    assert (done.code, site.wire.seen) == (0, 0)
    assert "the link of Ann stays revoked" in done.err
    assert site.done(yaml_with_variants({"label": "Ann", "revoked": False})) == [("update", "variant", "Ann")]
    assert site(yaml_with_variants({"label": "Ann", "revoked": True})).code == 2  # it takes something from a reader
    assert site.done(yaml_with_variants({"label": "Ann", "revoked": True}), "--yes") == [("update", "variant", "Ann")]
    assert [row["revoked"] for row in site.variants] == [True]


def test_a_label_that_somebody_changed_is_changed_back(site: ApplyFolder) -> None:
    site(yaml_with_variants({"label": "Ann"}))
    (ann,) = site.variants
    site.person.put(f"/api/v1/files/{site.file['uuid']}/variants/{ann['uuid']}", json={"label": "Bo"})
    assert site.done(yaml_with_variants({"label": "Ann"})) == [("update", "variant", "Ann")]
    assert [(row["uuid"], row["label"]) for row in site.variants] == [(ann["uuid"], "Ann")]


def test_a_redacted_label_is_not_brought_back(site: ApplyFolder) -> None:
    site(yaml_with_variants({"label": "Ann"}))
    (ann,) = site.variants
    site.person.delete(f"/api/v1/files/{site.file['uuid']}/variants/{ann['uuid']}?redact=1")
    done = site(yaml_with_variants({"label": "Ann"}))
    assert (done.code, site.wire.seen) == (0, 0)
    assert "was redacted" in done.err


def test_a_variant_that_was_made_by_hand_is_taken_for_its_label(site: ApplyFolder) -> None:
    site(MINIMAL_YAML)
    made = site.person.post(f"/api/v1/files/{site.file['uuid']}/variants", json={"label": "Ann"}).get_json()
    assert site.done(yaml_with_variants({"label": "Ann"})) == []
    assert [row["uuid"] for row in site.variants] == [made["uuid"]]


# --- webhooks ---------------------------------------------------------------------------------------------------------


def test_other_events_make_a_webhook_anew_with_a_new_secret(site: ApplyFolder) -> None:
    site(yaml_with_webhook("file.viewed"))
    (old,), secret = site.hooks, (site.folder / "hook.secret").read_text()
    assert site(yaml_with_webhook("file.viewed", "file.burned")).code == 2  # the receiver must learn a new secret
    assert site.done(yaml_with_webhook("file.viewed", "file.burned"), "--yes") == [("replace", "webhook", HOOK)]
    (new,) = site.hooks
    assert (new["uuid"] == old["uuid"], sorted(new["events"])) == (False, ["file.burned", "file.viewed"])
    assert (site.folder / "hook.secret").read_text() not in ("", secret)
    assert (site.done(yaml_with_webhook("file.burned", "file.viewed")), site.wire.seen) == ([], 0)


def test_a_secret_that_may_be_of_another_webhook_is_not_overwritten(site: ApplyFolder) -> None:
    (site.folder / "hook.secret").write_text("mine")
    done = site(yaml_with_webhook("file.viewed"))
    assert (done.code, site.wire.seen, (site.folder / "hook.secret").read_text()) == (2, 0, "mine")


def test_a_webhook_that_was_deleted_by_hand_is_made_again(site: ApplyFolder) -> None:
    site(yaml_with_webhook("file.viewed"))
    site.person.delete(f"/api/v1/webhooks/{site.hooks[0]['uuid']}")
    assert site.done(yaml_with_webhook("file.viewed")) == [("create", "webhook", HOOK)]
    assert len(site.hooks) == 1


def test_a_fresh_checkout_makes_no_second_webhook(site: ApplyFolder) -> None:
    site(yaml_with_webhook("file.viewed", file="report.pdf"))
    site.state.unlink()
    (site.folder / "hook.secret").unlink()
    done = site(yaml_with_webhook("file.viewed", file="report.pdf"))
    assert (done.code, site.wire.seen, len(site.hooks)) == (0, 0, 1)
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


def test_prune_removes_what_left_the_file_and_nothing_else(site: ApplyFolder) -> None:
    """What was made by other means stays, and a file goes to the trash only."""
    site.document(TWO, "other.pdf")
    site(MANY)
    by_hand = site.person.upload(ONE, "hand.pdf")["uuid"]
    report = next(file["uuid"] for file in site.files if file["originalName"] == "report.pdf")
    site.person.post(f"/api/v1/files/{report}/variants", json={"label": "Hand"})
    site.person.post("/api/v1/webhooks", json={"url": HOOK + "/hand", "events": ["file.viewed"]})
    told = site(FEW)
    assert (told.code, site.wire.seen) == (0, 0)
    assert "3 resources are no longer in share.yaml; --prune removes them" in told.err
    assert site(FEW, "--prune").code == 2
    assert site.wire.seen == 0
    assert site.done(FEW, "--prune", "--yes") == [
        ("delete", "webhook", HOOK),
        ("delete", "variant", "Bo"),
        ("delete", "file", "other.pdf"),
    ]
    assert {file["uuid"] for file in site.files} == {report, by_hand}
    labels = site.person.get(f"/api/v1/files/{report}/variants").get_json()["variants"]
    assert {row["label"] for row in labels} == {"Ann", "Hand"}
    assert {hook["url"] for hook in site.hooks} == {CHAT, HOOK + "/hand"}
    told = site(FEW, "--prune")
    assert (told.err, site.wire.seen) == ("no changes\n", 0)


def test_what_is_gone_already_is_not_pruned(site: ApplyFolder) -> None:
    site.document(TWO, "other.pdf")
    site(MANY)
    for file in site.files:
        if file["originalName"] == "other.pdf":
            site.person.delete(f"/api/v1/files/{file['uuid']}")
    (bo,) = (row for row in site.variants if row["label"] == "Bo")
    site.person.delete(f"/api/v1/files/{site.file['uuid']}/variants/{bo['uuid']}")
    (hook,) = (row for row in site.hooks if row["url"] == HOOK)
    site.person.delete(f"/api/v1/webhooks/{hook['uuid']}")
    told = site(FEW, "--prune")
    assert (told.code, told.err, site.wire.seen) == (0, "no changes\n", 0)


def test_prune_takes_no_file_that_only_has_another_key_now(site: ApplyFolder) -> None:
    site(yaml_with_settings(slug="q3"))
    assert site.done("files: [{path: report.pdf, key: new, settings: {slug: q3}}]", "--prune") == []
    assert site.file["slug"] == "q3"


def test_prune_takes_no_file_that_is_described_by_its_uuid(site: ApplyFolder) -> None:
    site.document(TWO, "other.pdf")
    site("files: [{path: report.pdf}, {path: other.pdf}]")
    other = next(file["uuid"] for file in site.files if file["originalName"] == "other.pdf")
    text = f"files: [{{path: report.pdf, uuid: {other}}}]"
    assert site.done(text, "--prune", "--yes") == [("replace", "file", "report.pdf")]
    assert len(site.files) == 2


# --- failures ---------------------------------------------------------------------------------------------------------


def test_a_failure_in_the_middle_is_12_and_the_same_command_goes_on(site: ApplyFolder) -> None:
    other = site.person.upload(TWO, "other.pdf")["uuid"]
    site.person.put(f"/api/v1/files/{other}/settings", json={"slug": "q3"})
    site.person.delete(f"/api/v1/files/{other}")  # in the trash it keeps its slug
    text = "files: [{path: report.pdf, settings: {slug: q3}, variants: [{label: Ann}]}]"
    done = site(text, "--json")
    assert (done.code, [row["done"] for row in done.json]) == (12, [True, False])
    assert done.json[1]["error"]["code"] == "conflict"
    site.person.delete(f"/api/v1/files/{other}?purge=1")
    assert site.done(text) == [("update", "settings", "report.pdf"), ("create", "variant", "Ann")]
    assert (site.done(text), len(site.files)) == ([], 1)


def test_a_first_failure_ends_with_its_own_code(site: ApplyFolder) -> None:
    site(MINIMAL_YAML)
    other = site.person.upload(TWO, "other.pdf")["uuid"]
    site.person.put(f"/api/v1/files/{other}/settings", json={"slug": "q3"})
    site.person.delete(f"/api/v1/files/{other}")
    done = site(yaml_with_settings(slug="q3"), "--json")
    assert (done.code, done.out, done.error["code"]) == (7, "", "conflict")


@pytest.mark.parametrize("lost", [1, 2, 3, 4])
def test_a_lost_answer_makes_nothing_twice(site: ApplyFolder, world: World, lost: int) -> None:
    """The upload, the settings, the variant or the webhook: each is found to have been made, or made once more. The
    secret of a webhook is lost with its answer, so that one is deleted, and another has a secret that is known."""
    world.clock.advance(days=36_500)  # what is made is newer than the Date of an answer says, however slow this machine
    site.wire.loses = lambda n: n == lost
    hook = f"webhooks: [{{url: '{HOOK}', events: all, secretFile: hook.secret}}]"
    text = f"files: [{{path: report.pdf, settings: {{slug: q3}}, variants: [{{label: Ann}}]}}]\n{hook}"
    assert len(site.done(text)) == 4
    assert site.wire.lost == 1
    assert (site.file["slug"], [row["label"] for row in site.variants], len(site.hooks)) == ("q3", ["Ann"], 1)
    assert (site.folder / "hook.secret").read_text().startswith("whsec_")
    site.wire.loses = lambda n: False
    assert (site.done(text), site.wire.seen) == ([], 0)


def test_a_removal_whose_answer_is_lost_is_a_removal(site: ApplyFolder) -> None:
    site.document(TWO, "other.pdf")
    site(MANY)
    site.wire.loses = lambda n: n in (1, 3, 5)  # each first answer; the second try finds nothing any more
    assert len(site.done(FEW, "--prune", "--yes")) == 3
    assert (site.wire.lost, len(site.files), len(site.variants), len(site.hooks)) == (3, 1, 1, 1)
    assert json.loads(site.state.read_text())["files"].keys() == {"report.pdf"}


# --- whose state it is ------------------------------------------------------------------------------------------------


def test_the_state_of_another_account_or_server_is_refused(
    site: ApplyFolder, desk: MakeShell, world: World, house: str
) -> None:
    site(MINIMAL_YAML)
    stranger = ApplyFolder(desk(world.mal), site.wire, world.mal, site.folder)
    done = stranger(MINIMAL_YAML, "--json")
    assert (done.code, site.wire.seen, stranger.files) == (2, 0, [])
    assert "another account" in done.error["detail"]
    site.shell.env["DOCSHARE_URL"] = house
    done = site(MINIMAL_YAML, "--json")
    assert done.code == 2
    assert site.wire.url in done.error["detail"]
    assert "--state F" in done.error["hint"]
    assert site(MINIMAL_YAML, "--state", str(site.folder / "second.json")).code == 0


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
def test_a_broken_state_is_refused_and_stays(shell: Shell, tmp_path: Path, content: str) -> None:
    (tmp_path / "share.yaml").write_text("version: 1")
    state = tmp_path / "share.state.json"
    state.write_text(content)
    done = shell("apply", tmp_path / "share.yaml", "--json")
    assert (done.code, done.out, state.read_text()) == (2, "", content)
    assert "it is not a state file of docshare apply" in done.error["detail"]


def test_the_state_holds_nothing_that_opens_a_link(site: ApplyFolder) -> None:
    (site.folder / "secret.txt").write_text("correct horse")
    hook = {"url": HOOK, "events": "all", "secretFile": "hook.secret"}
    site(yaml_with_settings(passwordFile="secret.txt") + f"\nwebhooks: [{json.dumps(hook)}]")
    secret = (site.folder / "hook.secret").read_text().strip()
    assert not [word for word in ("correct horse", secret, site.person.key) if word in site.state.read_text()]
