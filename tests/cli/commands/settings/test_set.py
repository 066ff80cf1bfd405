"""``docshare settings set`` and ``clear`` on a real server: the file has exactly the settings of the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.people.cast import Person, World
from tests.support.shell import CommandResult, Shell

MakeShell = Callable[[Person], Shell]

SECRET = "sesam öffne dich"
FORM = [{"key": "mail", "label": "Your mail", "type": "email", "required": True}]


@pytest.fixture
def shell(shell_for: MakeShell, world: World) -> Shell:
    """Return the shell of Pia, who has the Pro plan."""
    return shell_for(world.pia)


@pytest.fixture
def file(world: World) -> str:
    """Upload a document of three pages as Pia and return its short id."""
    return str(world.pia.upload()["shortId"])


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret.txt"
    path.write_text(f"{SECRET}\n")
    return path


def get_file(world: World, file: str) -> dict[str, Any]:
    answer: dict[str, Any] = world.pia.get(f"/api/v1/files/{file}").get_json()
    return answer


def run_settings(shell: Shell, *line: str | Path, **more: Any) -> CommandResult:
    ended = shell("settings", *line, **more)
    assert ended.code == 0, ended.err
    return ended


# --- every option ----------------------------------------------------------------------------------------------------

# option and value -> the field of the File object
OPTIONS: list[tuple[list[str], dict[str, Any]]] = [
    (["--mode", "flipbook"], {"viewerMode": "flipbook"}),
    (["--no-download"], {"allowDownload": False}),
    (["--download"], {"allowDownload": True}),
    (["--hide-expiry"], {"showExpiry": False}),
    (["--show-expiry"], {"showExpiry": True}),
    (["--hide-sender"], {"showSender": False}),
    (["--show-sender"], {"showSender": True}),
    (["--no-reader-choice"], {"readerChoice": False}),
    (["--reader-choice", "--require-email"], {"readerChoice": True, "requireEmail": True}),
    (["--expires", "10d"], {"deleteAt": "2026-10-01T14:13:20.000Z"}),
    (["--expires", "2027-01-31T18:00:00+02:00"], {"deleteAt": "2027-01-31T16:00:00.000Z"}),
    (["--views", "5"], {"viewLimit": 5}),
    (["--pages", "2-3"], {"pageRange": {"from": 2, "to": 3}}),
    (["--pages", "2"], {"pageRange": {"from": 2, "to": 2}}),
    (["--require-email"], {"requireEmail": True}),
    (
        ["--email-domain", "Example.com", "--email-domain", "b.org"],
        {"gateDomains": ["example.com", "b.org"], "requireEmail": True},
    ),
    (["--notify"], {"notifyOnView": True}),
    (["--watermark"], {"watermark": True}),
    (["--receipt"], {"askReceipt": True}),
    (["--slug", "q3-offer"], {"slug": "q3-offer"}),
    (["--comments"], {"commentsEnabled": True}),
    (["--comments-public"], {"commentsAllowPublic": True}),
    (["--notify-comments"], {"notifyOnComment": True}),
    (["--marks"], {"marksEnabled": True}),
    (["--annotations"], {"annotationsEnabled": True}),
    (["--ga4", "G-ABCDEF1234"], {"viewerSettings": {"ga4Id": "G-ABCDEF1234"}}),
    (["--brand", "#ff0044"], {"viewerSettings": {"brand": {"accentColor": "#ff0044"}}}),
    (
        ["--cta-label", "Book", "--cta-url", "https://x.example/"],
        {"viewerSettings": {"cta": {"label": "Book", "url": "https://x.example/"}}},
    ),
    (["--watermark-opacity", "0.3"], {"viewerSettings": {"watermarkStyle": {"opacity": 0.3}}}),
    (["--background", "dusk"], {"viewerSettings": {"background": {"type": "gradient", "preset": "dusk"}}}),
    (["--background", "#123456"], {"viewerSettings": {"background": {"color": "#123456"}}}),
    (["--set", "notifyOnView=true", "--set", "flip.rtl=true"],
     {"notifyOnView": True, "viewerSettings": {"flip": {"rtl": True}}}),
]  # fmt: skip


@pytest.mark.parametrize(("options", "shown"), OPTIONS, ids=lambda value: " ".join(value) if value else "")
def test_an_option_sets_its_setting(
    shell: Shell, world: World, file: str, options: list[str], shown: dict[str, Any]
) -> None:
    assert run_settings(shell, "set", file, *options).out == ""
    assert shown.items() <= get_file(world, file).items()


def test_a_gate_form_is_read_from_a_file_and_cleared_with_none(
    shell: Shell, world: World, file: str, tmp_path: Path
) -> None:
    (tmp_path / "form.json").write_text(json.dumps(FORM))
    run_settings(shell, "set", file, "--gate", tmp_path / "form.json")
    assert get_file(world, file)["gateFields"] == FORM
    run_settings(shell, "set", file, "--gate", "none")
    assert "gateFields" not in get_file(world, file)


@pytest.mark.parametrize(
    ("line", "asks", "warned"),
    [
        (["--email-domain", "a.org"], True, False),
        (["--email-domain", "a.org", "--no-require-email"], False, True),
        (["--email-domain", "a.org", "--set", "requireEmail=false"], False, True),
        (["gateDomains=a.org"], False, True),
        (["gateDomains=a.org", "requireEmail=true"], True, False),
        (["gateDomains:=[]"], False, False),
    ],
)
def test_email_domains_enable_require_email_or_cause_a_warning(
    shell: Shell, world: World, file: str, line: list[str], asks: bool, warned: bool
) -> None:
    told = run_settings(shell, "set", file, *line, "--strict").err
    assert get_file(world, file)["requireEmail"] is asks
    assert ("have no effect" in told) is warned


def test_disabling_require_email_with_domains_causes_a_warning(shell: Shell, world: World, file: str) -> None:
    run_settings(shell, "set", file, "--email-domain", "a.org")
    told = run_settings(shell, "set", file, "--no-require-email", "--json")
    assert "have no effect" in told.err
    assert any("have no effect" in warning for warning in told.json["warnings"])


def test_the_effect_of_a_form_on_require_email_is_reported(
    shell: Shell, world: World, file: str, tmp_path: Path
) -> None:
    (tmp_path / "form.json").write_text(json.dumps(FORM))
    assert (
        "makes readers enter an email address" in run_settings(shell, "set", file, "--gate", tmp_path / "form.json").err
    )
    assert "--no-require-email" in run_settings(shell, "set", file, "--gate", "none").err
    assert get_file(world, file)["requireEmail"] is True
    run_settings(shell, "set", file, "--gate", tmp_path / "form.json")
    assert "must still enter" not in run_settings(shell, "set", file, "--gate", "none", "--no-require-email").err
    assert get_file(world, file)["requireEmail"] is False


def test_expires_never_clears_the_expiry(shell: Shell, world: World, file: str) -> None:
    run_settings(shell, "set", file, "--expires", "7d")
    run_settings(shell, "set", file, "--expires", "never")
    assert "deleteAt" not in get_file(world, file)


# --- key=value -------------------------------------------------------------------------------------------------------

ARGUMENTS: list[tuple[str, dict[str, Any]]] = [
    ("viewerMode=magazine", {"viewerMode": "magazine"}),
    ("allowDownload=false", {"allowDownload": False}),
    ("viewLimit=7", {"viewLimit": 7}),
    ("viewLimit:=7", {"viewLimit": 7}),
    ("pageRange=1-2", {"pageRange": {"from": 1, "to": 2}}),
    ('pageRange:={"from":1,"to":2}', {"pageRange": {"from": 1, "to": 2}}),
    ("gateDomains=a.org,b.org", {"gateDomains": ["a.org", "b.org"]}),
    ("deleteAt=2027-01-01T00:00:00Z", {"deleteAt": "2027-01-01T00:00:00.000Z"}),
    ("flip.speedMs=300", {"viewerSettings": {"flip": {"speedMs": 300}}}),
    ("viewerSettings.flip.speedMs=300", {"viewerSettings": {"flip": {"speedMs": 300}}}),
    ('flip:={"speedMs":300,"sound":true}', {"viewerSettings": {"flip": {"speedMs": 300, "sound": True}}}),
    ('viewerSettings:={"page":{"shadow":3}}', {"viewerSettings": {"page": {"shadow": 3}}}),
    ("background.gradient=sand", {"viewerSettings": {"background": {"preset": "sand"}}}),
    ("watermarkStyle.opacity=0.5", {"viewerSettings": {"watermarkStyle": {"opacity": 0.5}}}),
    ("ga4Id=G-ABCDEF1234", {"viewerSettings": {"ga4Id": "G-ABCDEF1234"}}),
]


@pytest.mark.parametrize(("word", "shown"), ARGUMENTS, ids=[word for word, _ in ARGUMENTS])
def test_a_key_value_argument_sets_any_setting_with_its_type(
    shell: Shell, world: World, file: str, word: str, shown: dict[str, Any]
) -> None:
    run_settings(shell, "set", file, word)
    assert shown.items() <= get_file(world, file).items()


@pytest.mark.parametrize("word", ["gateFields=@{}", "gateFields:=@{}"])
def test_a_value_can_be_read_from_a_file(shell: Shell, world: World, file: str, tmp_path: Path, word: str) -> None:
    (tmp_path / "form.json").write_text(json.dumps(FORM))
    run_settings(shell, "set", file, word.format(tmp_path / "form.json"))
    assert get_file(world, file)["gateFields"] == FORM


# --- settings files --------------------------------------------------------------------------------------------------


def test_settings_are_read_from_json_toml_and_stdin_and_the_command_line_overrides_them(
    shell: Shell, world: World, file: str, tmp_path: Path
) -> None:
    (tmp_path / "a.json").write_text('{"viewLimit": 3, "slug": "from-file", "viewerSettings": {"flip": {"rtl": true}}}')
    run_settings(shell, "set", file, "--from-file", tmp_path / "a.json", "--slug", "from-line")
    assert {"viewLimit": 3, "slug": "from-line"}.items() <= get_file(world, file).items()
    (tmp_path / "b.toml").write_text(
        'viewLimit = 4\ndeleteAt = 2027-03-01T12:00:00Z\n"page.shadow" = 3\n[flip]\nspeedMs = 300\n'
    )
    run_settings(shell, "set", file, "--from-file", tmp_path / "b.toml")
    assert get_file(world, file)["viewerSettings"] == {"page": {"shadow": 3}, "flip": {"speedMs": 300, "rtl": True}}
    assert get_file(world, file)["deleteAt"] == "2027-03-01T12:00:00.000Z"
    run_settings(shell, "set", file, "--from-file", "-", stdin=b'{"viewLimit": 5}')
    run_settings(shell, "set", file, "--from-file", "-", stdin=b"askReceipt = true")
    assert {"viewLimit": 5, "askReceipt": True}.items() <= get_file(world, file).items()


def test_an_expiry_on_the_command_line_overrides_never_in_the_file(
    shell: Shell, world: World, file: str, tmp_path: Path
) -> None:
    (tmp_path / "a.json").write_text('{"neverExpire": true}')
    run_settings(shell, "set", file, "--from-file", tmp_path / "a.json", "--expires", "1d")
    assert get_file(world, file)["deleteAt"] == "2026-09-22T14:13:20.000Z"


# --- the password ----------------------------------------------------------------------------------------------------


def test_a_password_from_a_file_protects_the_file_and_is_never_printed(
    shell: Shell, world: World, file: str, secret: Path
) -> None:
    line = ("set", file, "--password-file", secret, "--slug", "q3", "--diff", "-vv")
    shell.tty = True
    told = run_settings(shell, *line)
    shell.tty = False
    for ended in (told, run_settings(shell, *line, "--json"), run_settings(shell, *line, "-n")):
        assert SECRET not in ended.out + ended.err
    assert get_file(world, file)["protected"] is True
    assert run_settings(shell, *line, "--json").json["sent"] == {"slug": "q3", "password": "***"}


def test_the_password_can_be_read_from_stdin(shell: Shell, world: World, file: str) -> None:
    run_settings(shell, "set", file, "--password-file", "-", stdin=b"open\n")
    assert get_file(world, file)["protected"] is True


@pytest.mark.parametrize("raw", [b"", b"\n"])
def test_an_empty_password_file_is_an_error_and_changes_nothing(
    shell: Shell, world: World, file: str, secret: Path, raw: bytes
) -> None:
    run_settings(shell, "set", file, "--password-file", secret)
    secret.write_bytes(raw)
    ended = shell("settings", "set", file, "--password-file", secret, "--slug", "x")
    assert ended.code == 2
    assert "settings clear FILE password" in ended.err
    assert get_file(world, file)["protected"] is True
    assert "slug" not in get_file(world, file)


# --- clear -----------------------------------------------------------------------------------------------------------


def test_clear_removes_each_setting(shell: Shell, world: World, file: str, secret: Path) -> None:
    form = "gateFields:=" + json.dumps(FORM)
    run_settings(shell, "set", file, "--password-file", secret, "--slug", "q3", "--pages", "1-2", "--views", "3", form,
         "--email-domain", "a.org", "--expires", "1d", "--background", "dusk")  # fmt: skip
    before = get_file(world, file)
    run_settings(
        shell, "clear", file, "password", "slug", "gate", "page-range", "view-limit", "expiry", "domains", "viewer"
    )
    after = get_file(world, file)
    assert before.keys() - after.keys() == {
        "slug", "deleteAt", "viewLimit", "gateFields", "gateDomains", "pageRange",
    }  # fmt: skip
    assert (before["protected"], after["protected"], after["viewerSettings"]) == (True, False, {})


def test_clear_accepts_keys_and_blocks_and_preserves_other_settings(shell: Shell, world: World, file: str) -> None:
    run_settings(
        shell, "set", file, "flip.speedMs=300", "flip.rtl=true", "page.shadow=3", "--notify", "--mode", "swipe"
    )
    run_settings(shell, "clear", file, "page", "flip.speedMs", "notifyOnView", "viewerMode")
    after = get_file(world, file)
    assert after["viewerSettings"] == {"flip": {"rtl": True}}
    assert (after["notifyOnView"], after["viewerMode"]) == (False, "standard")


def test_settings_above_the_plan_can_be_cleared(shell_for: MakeShell, world: World, file: str) -> None:
    from docshare.contract.plans import Plan
    from docshare.server.services.accounts import accounts

    pia = shell_for(world.pia)
    run_settings(pia, "set", file, "--slug", "q3", "--pages", "1-2", "brand.accentColor=#ff0000")
    accounts.set_tier(world.rt, world.pia.email, Plan.FREE)
    run_settings(pia, "clear", file, "slug", "page-range", "brand")
    assert not {"slug", "pageRange"} & get_file(world, file).keys()
    assert get_file(world, file)["viewerSettings"] == {}


def test_null_clears_a_setting(shell: Shell, world: World, file: str) -> None:
    run_settings(
        shell, "set", file, "--slug", "q3", "--views", "4", "--expires", "1d", "flip.speedMs=300", "page.shadow=3"
    )
    run_settings(shell, "set", file, "slug=null", "viewLimit:=null", "deleteAt=null", "flip=null", "page.shadow=null")
    after = get_file(world, file)
    assert not {"slug", "viewLimit", "deleteAt"} & after.keys()
    assert after["viewerSettings"] == {}
