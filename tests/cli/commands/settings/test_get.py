"""``docshare settings get``, ``schema``, ``export``, ``apply`` and ``copy``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.outside.fake_api import UUID, FakeApi
from tests.support.people.cast import Person, World
from tests.support.shell import Shell

MakeShell = Callable[[Person], Shell]

ID, OTHER = "aB3dE5fG7hJ9", "zY9xW8vU7tS6"
ASSET = UUID.format(7)
FILE: dict[str, Any] = {
    "uuid": UUID.format(1),
    "shortId": ID,
    "slug": "q2",
    "originalName": "deck.pdf",
    "size": 5,
    "deleteAt": "2026-10-01T14:13:20.000Z",
    "viewerMode": "flipbook",
    "protected": True,
    "allowDownload": False,
    "requireEmail": False,
    "viewerSettings": {"flip": {"speedMs": 300}, "ga4Id": "G-ABCDEF1234"},
    "pageRange": {"from": 2, "to": 3},
}
NO_SETTINGS = {"uuid", "shortId", "originalName", "size"}


@pytest.fixture
def settings_api(api: FakeApi) -> FakeApi:
    api.on("GET", f"/files/{ID}", FILE)
    api.on("GET", f"/files/{OTHER}", FILE | {"shortId": OTHER})
    api.on("PUT", f"/files/{OTHER}/settings", b"")
    return api


def list_written_settings(api: FakeApi) -> list[Any]:
    return [json.loads(heard.body) for heard in api.list_requests("PUT", f"/files/{OTHER}/settings")]


# --- get -------------------------------------------------------------------------------------------------------------


def test_a_pipe_gets_a_line_for_each_setting_with_the_key_that_sets_it(settings_api: FakeApi, shell: Shell) -> None:
    assert shell("settings", "get", ID).lines == [
        "viewerMode\tflipbook",
        "protected\ttrue",
        "allowDownload\tfalse",
        "requireEmail\tfalse",
        "deleteAt\t2026-10-01T14:13:20.000Z",
        'pageRange\t{"from":2,"to":3}',
        "slug\tq2",
        "flip.speedMs\t300",
        "ga4Id\tG-ABCDEF1234",
    ]


def test_a_terminal_shows_settings_in_groups_with_their_plan(settings_api: FakeApi, shell: Shell) -> None:
    shell.tty = True
    assert shell("settings", "get", ID, "--no-color").lines == [
        "viewerMode     flipbook",
        "protected      true  [basic]",
        "allowDownload  false",
        "requireEmail   false  [pro]",
        "deleteAt       2026-10-01T14:13:20.000Z",
        'pageRange      {"from":2,"to":3}  [pro]',
        "slug           q2  [pro]",
        "",
        "flip.speedMs   300  [basic]",
        "",
        "ga4Id          G-ABCDEF1234  [pro]",
    ]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("slug", "q2"), ("allowDownload", "false"), ("password", "true"), ("protected", "true"), ("viewLimit", ""),
        ("flip.speedMs", "300"), ("flip.layout", "adaptive"), ("viewerSettings.flip.speedMs", "300"),
        ("background.color", "#ffffff"), ("cta.label", ""), ("flip", '{"speedMs":300}'),
        ("viewerSettings", '{"flip":{"speedMs":300},"ga4Id":"G-ABCDEF1234"}'), ("pageRange", '{"from":2,"to":3}'),
    ],
)  # fmt: skip
def test_one_key_prints_only_its_current_value(settings_api: FakeApi, shell: Shell, key: str, value: str) -> None:
    assert shell("settings", "get", ID, key).out == f"{value}\n"
    shell.tty = True
    assert shell("settings", "get", ID, key).out == f"{value}\n"


def test_several_keys_print_one_line_each(settings_api: FakeApi, shell: Shell) -> None:
    assert shell("settings", "get", ID, "flip.rtl", "slug").lines == ["flip.rtl\tfalse", "slug\tq2"]


def test_json_is_an_object_that_includes_the_viewer_settings(settings_api: FakeApi, shell: Shell) -> None:
    everything = shell("settings", "get", ID, "--json").json
    assert everything == {key: value for key, value in FILE.items() if key not in NO_SETTINGS}
    assert shell("settings", "get", ID, "flip.speedMs", "--json").json == {"flip.speedMs": 300}
    assert shell("settings", "get", ID, "--fields", "viewerSettings.flip.speedMs").out == "300\n"
    assert shell("settings", "get", ID, "--query", "viewerSettings.flip.speedMs").out == "300\n"


@pytest.mark.parametrize(
    ("key", "named"),
    [("flip.speed", "Did you mean flip.speedMs"), ("slgu", "Did you mean slug?"), ("neverExpire", "write-only")],
)
def test_an_unknown_key_exits_with_2_and_sends_nothing(
    settings_api: FakeApi, shell: Shell, key: str, named: str
) -> None:
    done = shell("settings", "get", ID, key)
    assert (done.code, done.out, settings_api.requests) == (2, "", [])
    assert named in done.err


# --- schema ----------------------------------------------------------------------------------------------------------

# key, type, range or words, default, plan; written by hand from the API description
SCHEMA: list[tuple[str, str, Any, Any, str]] = [
    ("viewerMode", "word", ["standard", "flipbook", "swipe", "magazine"], "standard", "free"),
    ("password", "password", None, None, "basic"),
    ("allowDownload", "boolean", None, True, "free"),
    ("showExpiry", "boolean", None, True, "free"),
    ("readerChoice", "boolean", None, None, "free"),
    ("showSender", "boolean", None, True, "free"),
    ("requireEmail", "boolean", None, False, "pro"),
    ("notifyOnView", "boolean", None, False, "basic"),
    ("deleteAt", "datetime", None, None, "free"),
    ("viewLimit", "integer", (0, 1_000_000), None, "basic"),
    ("pageRange", "pages", None, None, "pro"),
    ("gateFields", "form", None, None, "pro"),
    ("gateDomains", "domains", None, None, "pro"),
    ("askReceipt", "boolean", None, False, "basic"),
    ("watermark", "boolean", None, False, "pro"),
    ("slug", "slug", None, None, "pro"),
    ("background.type", "word", ["solid", "gradient", "image"], "solid", "basic"),
    ("background.blur", "integer", (0, 20), 0, "basic"),
    ("background.dim", "integer", (0, 80), 0, "basic"),
    ("page.shadow", "integer", (0, 3), 1, "basic"),
    ("flip.speedMs", "integer", (200, 1200), 450, "basic"),
    ("swipe.intervalMs", "integer", (3000, 30000), 6000, "basic"),
    ("protect.print", "boolean", None, False, "basic"),
    ("protect.blurOnLeave", "boolean", None, False, "pro"),
    ("ga4Id", "measurement", None, None, "pro"),
    ("brand.toolbarTheme", "word", ["light", "dark", "auto"], "auto", "pro"),
    ("cta.position", "word", ["tl", "tr", "bl", "br", "bar"], "br", "pro"),
    ("watermarkStyle.opacity", "number", (0.05, 0.5), 0.12, "pro"),
]


@pytest.mark.parametrize(("key", "kind", "allowed", "default", "plan"), SCHEMA, ids=[row[0] for row in SCHEMA])
def test_the_json_schema_has_types_ranges_and_plans(
    shell: Shell, key: str, kind: str, allowed: Any, default: Any, plan: str
) -> None:
    (row,) = shell("settings", "schema", key, "--json").json
    assert (row["type"], row["plan"], row.get("default")) == (kind, plan, default)
    if isinstance(allowed, tuple):
        assert (row["minimum"], row["maximum"]) == allowed
    else:
        assert row.get("values") == allowed
    assert row["path"] == (f"viewerSettings.{key}" if "." in key or key == "ga4Id" else key)


def test_the_schema_lists_every_setting_and_sends_nothing(api: FakeApi, shell: Shell) -> None:
    keys = [row["key"] for row in shell("settings", "schema", "--json").json]
    assert len(keys) == len(set(keys)) == 24 + 37  # fields of the body, and those of viewerSettings
    plain = shell("settings", "schema")
    assert [line.split("\t")[0] for line in plain.lines] == keys
    assert "flip.speedMs\tinteger\t200 to 1200\t450\tbasic" in plain.lines
    shell.tty = True
    assert "flip.speedMs" in shell("settings", "schema").out
    assert shell("settings", "schema", "nonsense").code == 2
    assert api.requests == []


def test_the_schema_contains_the_value_that_clears_a_setting(shell: Shell) -> None:
    clears = {row["key"]: row["clear"] for row in shell("settings", "schema", "--json").json if "clear" in row}
    assert clears == {
        "password": "", "viewLimit": 0, "pageRange": {"from": 0, "to": 0}, "gateFields": [], "gateDomains": [],
        "slug": "",
    }  # fmt: skip


# --- export, apply, copy ---------------------------------------------------------------------------------------------


@pytest.fixture
def configured_files(world: World, shell_for: MakeShell, tmp_path: Path) -> tuple[Shell, str, str]:
    """Return the shell of Pia, a file of hers with many settings, and a plain one."""
    pia = shell_for(world.pia)
    first, second = (str(world.pia.upload()["shortId"]) for _ in range(2))
    (tmp_path / "p").write_text("geheim")
    done = pia("settings", "set", first, "--password-file", tmp_path / "p", "--slug", "q3", "--views", "9", "--pages",
               "1-2", "--email-domain", "a.org", "--expires", "9d", "--mode", "swipe", "flip.rtl=true")  # fmt: skip
    assert done.code == 0, done.err
    return pia, first, second


PERSONAL = {"uuid", "shortId", "slug", "protected", "shareUrl", "createdAt", "updatedAt"}


def get_settings(world: World, file: str) -> dict[str, Any]:
    shown = world.pia.get(f"/api/v1/files/{file}").get_json()
    return {key: value for key, value in shown.items() if key not in PERSONAL}


def test_exported_settings_give_another_file_the_same_state(
    configured_files: tuple[Shell, str, str], world: World, tmp_path: Path
) -> None:
    pia, first, second = configured_files
    (tmp_path / "s.json").write_text(pia("settings", "export", first).out)
    assert pia("settings", "apply", "-f", tmp_path / "s.json", second).code == 0
    assert get_settings(world, second) == get_settings(world, first)
    shown = world.pia.get(f"/api/v1/files/{second}").get_json()
    assert (shown["protected"], "slug" in shown) == (False, False)


def test_applying_exported_settings_clears_settings_that_are_not_in_them(
    configured_files: tuple[Shell, str, str], world: World, tmp_path: Path
) -> None:
    pia, first, second = configured_files
    plain = get_settings(world, second)
    (tmp_path / "s.json").write_text(pia("settings", "export", second, "--json").out)
    assert pia("settings", "apply", "-f", tmp_path / "s.json", first, "--strict").code == 0
    assert get_settings(world, first) == plain
    shown = world.pia.get(f"/api/v1/files/{first}").get_json()
    assert (shown["protected"], shown["slug"]) == (True, "q3")


def test_copy_gives_other_files_the_same_settings_except_password_and_slug(
    configured_files: tuple[Shell, str, str], world: World
) -> None:
    pia, first, second = configured_files
    third = str(world.pia.upload()["shortId"])
    assert pia("settings", "copy", first, second, third).code == 0
    assert get_settings(world, second) == get_settings(world, third) == get_settings(world, first)
    assert pia("settings", "get", second, "password").out == "false\n"


def test_apply_replaces_the_viewer_settings_as_a_whole(settings_api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text('slug = "q4"\n[viewerSettings.page]\nshadow = 3\n')
    assert shell("settings", "apply", "-f", tmp_path / "s.toml", OTHER, "--no-read-back").code == 0
    (tmp_path / "t.json").write_text('{"slug": "q5"}')
    assert shell("settings", "apply", "-f", "-", OTHER, stdin=b'{"slug": "q5"}').code == 0
    assert list_written_settings(settings_api) == [
        {"slug": "q4", "viewerSettings": {"page": {"shadow": 3}}},
        {"slug": "q5"},
    ]


def test_copy_omits_assets_which_belong_to_their_file(settings_api: FakeApi, shell: Shell) -> None:
    looks = {
        "background": {"type": "image", "assetId": ASSET, "dim": 20},
        "logo": {"assetId": ASSET, "position": "tl"},
        "ga4Id": "G-ABCDEF1234",
    }
    settings_api.on("GET", f"/files/{ID}", FILE | {"viewerSettings": looks})
    done = shell("settings", "copy", ID, OTHER)
    assert "not copied: background.assetId, logo.assetId, background.type" in done.err
    assert list_written_settings(settings_api)[0]["viewerSettings"] == {
        "background": {"dim": 20}, "logo": {"position": "tl"}, "ga4Id": "G-ABCDEF1234",
    }  # fmt: skip


SOLID, PICTURE, GRADIENT = {}, {"type": "image", "assetId": ASSET}, {"type": "gradient", "preset": "sand"}

# viewer settings of the target, those in the file, and those that are written
ASSET_CASES: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ({"logo": {"assetId": ASSET, "size": "l"}, "flip": {"rtl": True}}, {}, {"logo": {"assetId": ASSET}}),
    ({"logo": {"assetId": ASSET}}, {"logo": {"size": "s"}}, {"logo": {"assetId": ASSET, "size": "s"}}),
    ({"logo": {"assetId": ASSET}}, {"logo": {"assetId": UUID.format(8)}}, {"logo": {"assetId": UUID.format(8)}}),
    ({"logo": {"assetId": ASSET}}, {"logo": {"assetId": None}}, {}),
    ({"background": PICTURE | {"dim": 9}}, {"ga4Id": "G-ABCDEF1234"},
     {"background": PICTURE, "ga4Id": "G-ABCDEF1234"}),
    ({"background": PICTURE}, {"background": {"dim": 9}}, {"background": PICTURE | {"dim": 9}}),
    ({"background": PICTURE}, {"background": GRADIENT}, {"background": GRADIENT}),
    ({"background": PICTURE}, {"background": {"type": "solid"}}, {"background": {"type": "solid"}}),
    ({"background": GRADIENT | {"assetId": ASSET}}, {"background": GRADIENT},
     {"background": GRADIENT | {"assetId": ASSET}}),
    ({"background": GRADIENT}, {"flip": {"rtl": True}}, {"flip": {"rtl": True}}),
]  # fmt: skip


@pytest.mark.parametrize(("own", "given", "sent"), ASSET_CASES)
def test_apply_preserves_the_logo_and_background_picture_of_the_target(
    settings_api: FakeApi, shell: Shell, own: dict[str, Any], given: dict[str, Any], sent: dict[str, Any]
) -> None:
    settings_api.on("GET", f"/files/{OTHER}", FILE | {"viewerSettings": own})
    body = json.dumps({"viewerSettings": given}).encode()
    assert shell("settings", "apply", "-f", "-", OTHER, "--no-read-back", stdin=body).code == 0
    assert list_written_settings(settings_api) == [{"viewerSettings": sent}]


def test_copy_preserves_the_logo_of_the_target(settings_api: FakeApi, shell: Shell) -> None:
    settings_api.on("GET", f"/files/{ID}", FILE | {"viewerSettings": {}})
    settings_api.on("GET", f"/files/{OTHER}", FILE | {"viewerSettings": {"logo": {"assetId": ASSET}}})
    assert shell("settings", "copy", ID, OTHER).code == 0
    assert list_written_settings(settings_api)[0]["viewerSettings"] == {"logo": {"assetId": ASSET}}


def test_exported_settings_change_nothing_on_the_same_file_and_apply_to_any_other(
    configured_files: tuple[Shell, str, str], world: World, tmp_path: Path
) -> None:
    from tests.support.documents.images import make_picture

    pia, first, second = configured_files
    (tmp_path / "a.png").write_bytes(make_picture())
    for kind in ("logo", "background"):
        assert pia("assets", "add", first, tmp_path / "a.png", "--kind", kind, "--apply").code == 0
    before = get_settings(world, first)
    assert {"logo", "background"} <= before["viewerSettings"].keys()
    done = pia("settings", "export", first)
    assert "not exported: background.assetId, logo.assetId, background.type" in done.err
    (tmp_path / "s.json").write_text(done.out)
    assert pia("settings", "apply", "-f", tmp_path / "s.json", first, second, "--strict").code == 0
    assert get_settings(world, first) == before
    assert get_settings(world, second)["viewerSettings"] == {"flip": {"rtl": True}}


def test_copy_from_an_expired_file_is_rejected(settings_api: FakeApi, shell: Shell) -> None:
    settings_api.on("GET", f"/files/{ID}", FILE | {"deleteAt": "2026-09-21T14:13:20.000Z"})
    done = shell("settings", "copy", ID, OTHER)
    assert done.code == 2
    assert list_written_settings(settings_api) == []


def test_a_dry_run_of_copy_and_apply_and_clear_writes_nothing(
    settings_api: FakeApi, shell: Shell, tmp_path: Path
) -> None:
    (tmp_path / "s.json").write_text('{"slug": "q5"}')
    for line in (["copy", ID, OTHER], ["apply", "-f", tmp_path / "s.json", OTHER], ["clear", OTHER, "slug"]):
        done = shell("settings", *line, "-n")
        assert (done.code, done.out.split("\t")[:2]) == (0, ["PUT", f"/api/v1/files/{OTHER}/settings"])
    assert list_written_settings(settings_api) == []
