"""``docshare apply``: settings are set, changed, left alone and cleared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.commands.apply.apply_folder import MINIMAL_YAML, TWO, ApplyFolder, build_yaml_with_settings
from tests.support.engines.rows import update_file_row
from tests.support.people.cast import Person, World
from tests.support.shell import Shell

MakeShell = Callable[[Person], Shell]


@pytest.mark.parametrize(
    ("key", "first", "second"),
    [
        ("slug", "a", "b"),
        ("viewerMode", "swipe", "magazine"),
        ("deleteAt", "2099-01-01T00:00:00Z", "2099-01-02T00:00:00Z"),
        ("viewLimit", 3, 4),
        ("pageRange", "1-2", {"from": 2, "to": 3}),
        ("gateDomains", "example.com", ["example.com", "example.org"]),
        ("flip.speedMs", 300, 400),
        ("background", {"type": "solid", "color": "#111111"}, {"type": "gradient", "preset": "dusk"}),
    ],
)
def test_a_setting_is_set_changed_left_alone_and_cleared(
    apply_folder: ApplyFolder, key: str, first: Any, second: Any
) -> None:
    """A missing key leaves the value alone; null clears it; each state is stable."""
    step = [("update", "settings", "report.pdf")]
    assert apply_folder.apply_and_list_actions(build_yaml_with_settings(**{key: first})) == [
        ("create", "file", "report.pdf"),
        *step,
    ]
    for value, wanted in ((first, []), (second, step), (second, [])):
        assert apply_folder.apply_and_list_actions(build_yaml_with_settings(**{key: value})) == wanted
    kept = apply_folder.only_file
    assert (apply_folder.apply_and_list_actions(MINIMAL_YAML), apply_folder.only_file) == ([], kept)
    assert apply_folder.apply_and_list_actions(build_yaml_with_settings(**{key: None})) == step
    assert apply_folder.only_file[key] == "standard" if key == "viewerMode" else not apply_folder.only_file.get(key)
    assert apply_folder.only_file["viewerSettings"] == {}
    assert (apply_folder.apply_and_list_actions(build_yaml_with_settings(**{key: None})), apply_folder.wire.seen) == (
        [],
        0,
    )


def test_only_settings_that_differ_are_sent(apply_folder: ApplyFolder, world: World) -> None:
    """Values that others set by hand stay, including those inside the viewer settings."""
    apply_folder(build_yaml_with_settings(slug="q3", **{"flip.speedMs": 300}))
    uuid = apply_folder.only_file["uuid"]
    viewer = {"flip": {"speedMs": 300}, "brand": {"accentColor": "#112233"}}
    world.pia.put(f"/api/v1/files/{uuid}/settings", json={"viewLimit": 9, "viewerSettings": viewer})
    done = apply_folder(build_yaml_with_settings(slug="q4", **{"flip.speedMs": 350}), "--json")
    assert done.json[0]["changes"] == {
        "slug": {"from": "q3", "to": "q4"},
        "flip.speedMs": {"from": 300, "to": 350},
    }
    assert (apply_folder.only_file["viewLimit"], apply_folder.only_file["viewerSettings"]["brand"]) == (
        9,
        {"accentColor": "#112233"},
    )


def test_a_password_is_set_once_and_again_only_when_it_changes(apply_folder: ApplyFolder) -> None:
    secret = apply_folder.folder / "secret.txt"
    text = build_yaml_with_settings(passwordFile="secret.txt")
    for content, writes in (("first one", 2), ("first one", 0), ("second one", 1), ("second one", 0)):
        secret.write_text(f"{content}\n")
        done = apply_folder(text)
        assert (done.code, apply_folder.wire.seen) == (0, writes)
        assert content not in done.out + done.err + apply_folder.state.read_text()
    apply_folder.state.chmod(0o644)
    secret.write_text("third one")
    apply_folder(text)
    assert apply_folder.state.stat().st_mode & 0o777 == 0o600  # nobody else may read the hash
    apply_folder.state.unlink()
    done = apply_folder(text)
    assert (apply_folder.wire.seen, "the password is set again" in done.err) == (1, True)
    assert apply_folder.apply_and_list_actions(build_yaml_with_settings(passwordFile=None)) == [
        ("update", "settings", "report.pdf")
    ]
    assert apply_folder.only_file["protected"] is False
    assert apply_folder.apply_and_list_actions(build_yaml_with_settings(passwordFile=None)) == []


def test_a_link_that_expired_as_configured_is_left_alone(apply_folder: ApplyFolder, world: World) -> None:
    """A duration counts from the upload, no matter when apply runs."""
    text = build_yaml_with_settings(deleteAt="5d")
    apply_folder(text)
    end = apply_folder.only_file["deleteAt"]
    advance_days(apply_folder, world, 3)
    assert (apply_folder.apply_and_list_actions(text), apply_folder.only_file["deleteAt"]) == ([], end)
    advance_days(apply_folder, world, 3)
    done = apply_folder(text)
    assert (done.code, apply_folder.wire.seen) == (0, 0)
    assert "has expired as configured" in done.err
    apply_folder.person.delete(f"/api/v1/files/{apply_folder.only_file['uuid']}?purge=1")
    assert (apply_folder.apply_and_list_actions(text), apply_folder.files) == (
        [],
        [],
    )  # an expired file is not uploaded again


def test_a_link_that_expired_unexpectedly_is_a_failure(apply_folder: ApplyFolder, world: World) -> None:
    apply_folder(build_yaml_with_settings(deleteAt="5d"))
    advance_days(apply_folder, world, 6)
    done = apply_folder(MINIMAL_YAML, "--json")
    assert (done.code, done.error["code"], apply_folder.wire.seen) == (8, "gone", 0)


def test_a_burned_link_is_left_alone(apply_folder: ApplyFolder, world: World) -> None:
    text = build_yaml_with_settings(viewLimit=1)
    apply_folder(text)
    update_file_row(world, apply_folder.only_file["uuid"], burned_at=world.clock())
    done = apply_folder(text)
    assert (done.code, apply_folder.wire.seen) == (0, 0)
    assert "its view limit is used up" in done.err


def advance_days(site: ApplyFolder, world: World, days: int) -> None:
    world.clock.advance(days=days)
    site.shell.time.wall += days * 86_400


def test_setting_an_expiry_in_the_past_requires_confirmation(apply_folder: ApplyFolder) -> None:
    apply_folder(MINIMAL_YAML)
    assert apply_folder(build_yaml_with_settings(deleteAt="2026-01-01")).code == 2
    assert "deleteAt" not in apply_folder.only_file
    assert apply_folder(build_yaml_with_settings(deleteAt="2026-01-01"), "--yes").code == 0
    assert apply_folder.only_file["deleteAt"] < apply_folder.only_file["createdAt"]


def test_prune_clears_settings_that_were_removed_from_the_file(apply_folder: ApplyFolder) -> None:
    """Only those that an earlier run set; settings that were set by other means stay."""
    (apply_folder.folder / "secret.txt").write_text("correct horse")
    settings = {
        "slug": "q3",
        "viewLimit": 5,
        "flip.speedMs": 300,
        "passwordFile": "secret.txt",
        "deleteAt": "2099-01-01",
    }
    apply_folder(build_yaml_with_settings(**settings))
    apply_folder.person.put(f"/api/v1/files/{apply_folder.only_file['uuid']}/settings", json={"allowDownload": False})
    told = apply_folder(build_yaml_with_settings(slug="q3"))
    assert (told.code, apply_folder.wire.seen) == (0, 0)
    assert "4 resources are no longer in share.yaml" in told.err
    assert apply_folder.apply_and_list_actions(build_yaml_with_settings(slug="q3"), "--prune") == [
        ("update", "settings", "report.pdf")
    ]
    file = apply_folder.only_file
    assert (file["slug"], file["allowDownload"], file["protected"], file["viewerSettings"]) == ("q3", False, False, {})
    assert not {"viewLimit", "deleteAt"} & file.keys()
    told = apply_folder(build_yaml_with_settings(slug="q3"))  # and nothing remains for --prune
    assert (told.err, apply_folder.wire.seen) == ("no changes\n", 0)


def test_a_plan_that_is_too_low_is_reported_before_anything_is_sent(
    shell_for: MakeShell, world: World, apply_folder: ApplyFolder
) -> None:
    poor = ApplyFolder(shell_for(world.bea), apply_folder.wire, world.bea, apply_folder.folder)
    text = "files: [{path: report.pdf, settings: {slug: q3, viewLimit: 4, watermark: true}, variants: [{label: Ann}]}]"
    done = poor(text, "--json")
    assert (done.code, poor.wire.seen, poor.files) == (6, 0, [])
    for word in ("slug", "watermark", "variant Ann", "(pro)"):
        assert word in done.error["hint"]
    assert poor(build_yaml_with_settings(viewLimit=4)).code == 0
    poor.write_document(TWO)
    done = poor(build_yaml_with_settings(viewLimit=4), "--json", "--yes")
    assert (done.code, poor.wire.seen) == (6, 0)
    assert "a new version" in done.error["hint"]
