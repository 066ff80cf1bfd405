"""How ``docshare settings set`` writes: merging, verification, output and error responses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.outside.fake_api import UUID, FakeApi, FakeResponse, problem
from tests.support.people.cast import Person, World
from tests.support.shell import Shell

MakeShell = Callable[[Person], Shell]

ID, OTHER = "aB3dE5fG7hJ9", "zY9xW8vU7tS6"
FILE: dict[str, Any] = {
    "uuid": UUID.format(1),
    "shortId": ID,
    "slug": "q2",
    "originalName": "deck.pdf",
    "viewerSettings": {"flip": {"speedMs": 300, "rtl": True}, "ga4Id": "G-ABCDEF1234"},
}


@pytest.fixture
def settings_api(api: FakeApi) -> FakeApi:
    """Return a server that accepts any settings and shows the same file before and after."""
    api.on("GET", f"/files/{ID}", FILE)
    api.on("PUT", f"/files/{ID}/settings", b"")
    return api


def list_written_settings(api: FakeApi, file: str = ID) -> list[Any]:
    return [json.loads(heard.body) for heard in api.list_requests("PUT", f"/files/{file}/settings")]


def list_requests(api: FakeApi) -> list[str]:
    return [f"{heard.method} {heard.path}" for heard in api.requests]


# --- read, merge, write, read back -----------------------------------------------------------------------------------


def test_settings_are_sent_alone_and_read_back(settings_api: FakeApi, shell: Shell) -> None:
    done = shell("settings", "set", ID, "--slug", "q2")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert list_requests(settings_api) == [f"PUT /files/{ID}/settings", f"GET /files/{ID}"]
    assert list_written_settings(settings_api) == [{"slug": "q2"}]
    assert settings_api.requests[0].headers["Content-Type"] == "application/json"


def test_viewer_settings_are_merged_with_the_stored_ones_and_the_diff_is_printed(
    settings_api: FakeApi, shell: Shell
) -> None:
    done = shell("settings", "set", ID, "flip.speedMs=600", "flip.rtl=null", "page.shadow=3", "--no-read-back")
    assert list_requests(settings_api) == [f"GET /files/{ID}", f"PUT /files/{ID}/settings"]
    assert list_written_settings(settings_api) == [
        {"viewerSettings": {"flip": {"speedMs": 600}, "ga4Id": "G-ABCDEF1234", "page": {"shadow": 3}}}
    ]
    assert done.out == ""
    assert done.err.splitlines() == ["flip.speedMs 300 → 600", "flip.rtl true → false", "page.shadow 1 → 3"]
    assert shell("settings", "set", ID, "flip.speedMs=600", "--no-read-back", "-q").err == ""


def test_replace_sends_viewer_settings_unchanged(settings_api: FakeApi, shell: Shell) -> None:
    shell("settings", "set", ID, "flip.speedMs=600", "--replace", "--no-read-back")
    assert list_requests(settings_api) == [f"PUT /files/{ID}/settings"]
    assert list_written_settings(settings_api) == [{"viewerSettings": {"flip": {"speedMs": 600}}}]


def test_replace_does_not_send_viewer_settings_if_none_are_given(settings_api: FakeApi, shell: Shell) -> None:
    shell("settings", "set", ID, "--slug", "q2", "--replace")
    assert list_written_settings(settings_api) == [{"slug": "q2"}]


def test_an_impossible_merge_exits_with_2_and_writes_nothing(settings_api: FakeApi, shell: Shell) -> None:
    cta = {"label": "Book", "url": "https://x.example/"}
    settings_api.on("GET", f"/files/{ID}", FILE | {"viewerSettings": {"cta": cta}})
    done = shell("settings", "set", ID, "cta.url=null")
    assert done.code == 2
    assert "cta must have url" in done.err
    assert list_written_settings(settings_api) == []
    assert shell("settings", "set", ID, "cta.label=Call").code == 0
    assert list_written_settings(settings_api) == [{"viewerSettings": {"cta": cta | {"label": "Call"}}}]


@pytest.mark.parametrize("shown", [None, [], "x", {"flip": "x"}])
def test_malformed_stored_viewer_settings_do_not_prevent_a_merge(
    settings_api: FakeApi, shell: Shell, shown: object
) -> None:
    settings_api.on("GET", f"/files/{ID}", {"uuid": UUID.format(1), "viewerSettings": shown})
    assert shell("settings", "set", ID, "flip.speedMs=600", "--diff").code == 0
    assert list_written_settings(settings_api) == [{"viewerSettings": {"flip": {"speedMs": 600}}}]


# the settings that were sent, those that the server shows afterwards, and the warning
STRAY_SETTINGS: list[tuple[list[str], dict[str, Any], str]] = [
    (["flip.speedMs=1200"], {"viewerSettings": {"flip": {"speedMs": 900}}}, "sent 1200, the server keeps 900"),
    (["flip.speedMs=1200"], {}, "flip.speedMs: sent 1200, the server keeps its default"),
    (["--views", "5"], {}, "viewLimit: sent 5, the server keeps nothing"),
    (["viewLimit=null"], {"viewLimit": 4}, "viewLimit: sent 0, the server keeps 4"),
    (["--expires", "7d"], {"deleteAt": "2026-09-23T00:00:00.000Z"}, "the server keeps 2026-09-23T00:00:00.000Z"),
    (["--expires", "never"], {"deleteAt": "2026-09-23T00:00:00.000Z"}, "sent true, the server keeps 2026-09-23"),
    (["--slug", "a"], {"slug": "b"}, "slug: sent a, the server keeps b"),
    (["--no-require-email"], {"requireEmail": True, "gateFields": [{"key": "m"}]},
     "requireEmail: sent false, the server keeps true, because of the form (remove it with --gate none)"),
    (["--no-download"], {"allowDownload": True}, "allowDownload: sent false, the server keeps true"),
    (["--email-domain", "a.org"], {"gateDomains": ["b.org"]}, 'sent ["a.org"], the server keeps ["b.org"]'),
    (["--no-validate", "later=1"], {}, "later: the server does not know this setting"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "shown", "warning"), STRAY_SETTINGS, ids=[warning for _, _, warning in STRAY_SETTINGS]
)
def test_a_value_that_the_server_changed_causes_a_warning_and_exits_with_13_if_strict(
    settings_api: FakeApi, shell: Shell, words: list[str], shown: dict[str, Any], warning: str
) -> None:
    before = {key: value for key, value in FILE.items() if key not in ("slug", "viewerSettings")}
    settings_api.on("GET", f"/files/{ID}", *([before] if "flip" in words[0] else []), before | shown)
    done = shell("settings", "set", ID, *words)
    assert done.code == 0
    assert f"warning: {ID}: " in done.err
    assert warning in done.err
    strict = shell("settings", "set", ID, *words, "--strict", "--json")
    assert strict.code == 13
    assert any(warning in each for each in strict.json["warnings"])


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["deleteAt=2027-01-01T01:00:00+01:00"], {"deleteAt": "2027-01-01T00:00:00.000Z"}),
        (["--email-domain", "A.org"], {"gateDomains": ["a.org"], "requireEmail": True}),
        (["--views", "0"], {}),
        (['gateFields:=[{"key":"m","label":" M ","type":"email"}]'],
         {"gateFields": [{"key": "m", "label": "M", "type": "email", "required": True}]}),
        (["brand.accentColor=#FF00AA"], {"viewerSettings": {"brand": {"accentColor": "#ff00aa"}}}),
        (["flip.speedMs=450"], {"viewerSettings": {}}),
        (["detachDesignToolDesign=true"], {}),
    ],
)  # fmt: skip
def test_an_equivalent_value_causes_no_warning(
    settings_api: FakeApi, shell: Shell, words: list[str], shown: dict[str, Any]
) -> None:
    settings_api.on("GET", f"/files/{ID}", {"uuid": UUID.format(1)} | shown)
    done = shell("settings", "set", ID, *words, "--strict")
    assert (done.code, [line for line in done.err.splitlines() if "→" not in line]) == (0, [])


def test_a_password_that_was_not_stored_causes_a_warning_that_masks_it(
    settings_api: FakeApi, shell: Shell, tmp_path: Path
) -> None:
    (tmp_path / "p").write_text("geheim")
    settings_api.on("GET", f"/files/{ID}", FILE | {"protected": False})
    done = shell("settings", "set", ID, "--password-file", tmp_path / "p", "--strict")
    assert (done.code, "geheim" in done.err) == (13, False)
    assert "password: sent ***, the server keeps false" in done.err


def test_a_write_that_cannot_be_read_back_succeeds_with_a_warning(settings_api: FakeApi, shell: Shell) -> None:
    settings_api.on("GET", f"/files/{ID}", problem(403, "insufficient_scope", "files:read is missing"))
    done = shell("settings", "set", ID, "--slug", "x", "--json")
    assert (done.code, done.json) == (0, {"uuid": ID, "sent": {"slug": "x"}})
    assert "settings were written, but could not be verified: files:read is missing" in done.err
    assert shell("settings", "set", ID, "--slug", "x", "--strict").code == 13


# --- output ----------------------------------------------------------------------------------------------------------


def test_a_terminal_shows_the_changes_in_one_line(shell_for: MakeShell, world: World, tmp_path: Path) -> None:
    pia, file = shell_for(world.pia), world.pia.upload()["shortId"]
    (tmp_path / "p").write_text("geheim")
    pia.tty = True
    done = pia("settings", "set", file, "--slug", "q3", "--expires", "10d", "--views", "5", "--no-color",
               "--password-file", tmp_path / "p", "flip.speedMs=300", "--pages", "1-2", "--no-download")  # fmt: skip
    from docshare.cli.terminal.text import format_local_time

    expiry = format_local_time(1_790_000_000_000 + 10 * 86_400_000)
    assert done.lines == [
        f"updated {file}: allowDownload false, view limit 5, slug \"q3\", page range 1-2, expires {expiry} (10 days), "
        "password set, flip.speedMs 300",
        "http://127.0.0.1:8787/q3",
    ]  # fmt: skip
    done = pia("settings", "clear", file, "slug", "expiry", "password", "page-range", "flip", "--no-color")
    assert done.lines == [
        f"updated {file}: no slug, never expires, no password, no page range, flip.speedMs default"
    ]  # fmt: skip
    assert pia("settings", "clear", file, "viewer", "--no-color").lines == [f"updated {file}: no changes"]


def test_an_expiry_one_second_short_of_a_week_is_printed_as_7_days(shell_for: MakeShell, world: World) -> None:
    pia, file = shell_for(world.pia), world.pia.upload()["shortId"]
    pia.tty = True
    done = pia("settings", "set", file, "--expires", "2026-09-28T14:13:19Z", "--no-color")
    assert done.lines[0].endswith("(7 days)")


def test_diff_prints_old_and_new_values_on_a_terminal_in_json_and_otherwise_on_stderr(
    settings_api: FakeApi, shell: Shell
) -> None:
    line = ("settings", "set", ID, "--slug", "q3", "--views", "5", "flip.rtl=false", "--diff", "--no-read-back")
    shell.tty = True
    assert shell(*line, "--no-color").lines == [
        f'updated {ID}: view limit none → 5, slug "q2" → "q3", flip.rtl true → false'
    ]
    assert shell("settings", "set", ID, "--slug", "q2", "--diff", "--no-color").lines == [f"updated {ID}: no changes"]
    shell.tty = False
    piped = shell(*line)
    assert (piped.out, piped.err.splitlines()) == (
        "", ["view limit none → 5", 'slug "q2" → "q3"', "flip.rtl true → false"]
    )  # fmt: skip
    assert shell(*line, "--json").json["changed"] == {
        "viewLimit": {"from": None, "to": 5},
        "slug": {"from": "q2", "to": "q3"},
        "flip.rtl": {"from": True, "to": None},
    }


def test_a_new_slug_prints_the_link_if_the_server_stored_it(settings_api: FakeApi, shell: Shell) -> None:
    shown = FILE | {"shareUrl": f"https://d.example/x/{ID}"}
    settings_api.on("GET", f"/files/{ID}", shown)
    line = ("settings", "set", ID, "--slug", "q2")
    assert shell(*line, "--json").json["address"] == "https://d.example/x/q2"
    assert shell(*line).out == ""
    assert "address" not in shell("settings", "set", ID, "--slug", "q3", "--json").json
    assert "address" not in shell("settings", "clear", ID, "slug", "--json").json
    shell.tty = True
    assert shell(*line, "--no-color").lines == [f'updated {ID}: slug "q2"', "https://d.example/x/q2"]
    settings_api.on("GET", f"/files/{ID}", shown | {"shareUrl": "https://d.example/\x1b[31m/x"})
    assert "\x1b" not in shell(*line, "--no-color").out


@pytest.mark.parametrize(("protected", "word"), [(False, "none"), (True, "set")])
def test_diff_treats_every_password_as_changed(
    settings_api: FakeApi, shell: Shell, tmp_path: Path, protected: bool, word: str
) -> None:
    (tmp_path / "p").write_text("geheim")
    settings_api.on("GET", f"/files/{ID}", FILE | {"protected": protected})
    done = shell("settings", "set", ID, "--password-file", tmp_path / "p", "--diff", "--no-read-back")
    assert done.err == f"password {word} → new\n"
    cleared = shell("settings", "clear", ID, "password", "--diff", "--json")
    assert cleared.json["changed"] == ({"password": {"from": True, "to": None}} if protected else {})


def test_json_contains_the_sent_settings_and_the_resulting_file(settings_api: FakeApi, shell: Shell) -> None:
    assert shell("settings", "set", ID, "--slug", "q2", "--json").json == {
        "uuid": UUID.format(1), "sent": {"slug": "q2"}, "file": FILE,
    }  # fmt: skip
    assert shell("settings", "set", ID, "--slug", "q2", "--format", "ids").out == f"{UUID.format(1)}\n"
    assert shell("settings", "set", ID, "--slug", "q2", "--template", "{file.originalName}").out == "deck.pdf\n"
    assert shell("settings", "set", ID, "--slug", "q2", "--query", "sent.slug").out == '"q2"\n'


def test_hostile_remote_text_is_escaped_on_a_terminal(settings_api: FakeApi, shell: Shell) -> None:
    evil = "q\x1b]0;pwned\x07\u202e"
    looks = {"cta": {"label": evil, evil: evil}, "flip": {"layout": evil}}
    settings_api.on("GET", f"/files/{ID}", FILE | {
        "shortId": evil, "slug": evil, "gateDomains": [evil], "pageRange": evil, "gateFields": [{"label": evil}],
        "viewerSettings": looks,
    })  # fmt: skip
    settings_api.on("PUT", f"/files/{OTHER}/settings", problem(400, "bad_request", evil))
    shell.tty = True
    for line in (
        ["set", ID, "--slug", "a", "gateDomains=a.org", "--pages", "1-2", "gateFields=null", "cta=null", "--diff"],
        ["set", ID, "--slug", "a", "flip.layout=double"],
        ["set", OTHER, "--slug", "a"],
        ["get", ID],
        ["get", ID, "slug"],
        ["get", ID, "cta"],
        ["export", ID],
    ):
        done = shell("settings", *line, "--no-color")
        assert "\x1b" not in done.out + done.err, line
        assert "\u202e" not in done.out + done.err, line


# --- error responses -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "code", "hint"),
    [
        (problem(400, "bad_request"), 9, "do it"),
        (problem(401, "unauthorized"), 4, "credential from"),
        (problem(403, "insufficient_scope"), 5, "do it"),
        (problem(404, "not_found"), 3, "do it"),
        (problem(409, "conflict"), 7, "already in use"),
        (problem(410, "gone"), 8, "docshare replace"),
        (problem(413, "payload_too_large"), 9, "do it"),
        (problem(429, "rate_limited", Retry_After="900"), 10, ""),
        (problem(503, "unavailable", Retry_After="900"), 11, ""),
        (FakeResponse(b"", 307, {"Location": "/x"}), 11, ""),
    ],
)
def test_an_error_response_has_its_exit_code_a_hint_and_an_empty_stdout(
    settings_api: FakeApi, shell: Shell, answer: FakeResponse, code: int, hint: str
) -> None:
    settings_api.on("PUT", f"/files/{ID}/settings", answer)
    done = shell("settings", "set", ID, "--slug", "q3", "--json")
    assert (done.code, done.out, done.error["exit"]) == (code, "", code)
    assert hint in done.error["hint"]
    assert done.error["path"] == f"/api/v1/files/{ID}/settings"


def test_the_hint_names_the_plan_that_each_setting_requires(shell_for: MakeShell, world: World, tmp_path: Path) -> None:
    (tmp_path / "p").write_text("geheim")
    fay, file = shell_for(world.fay), world.fay.upload()["shortId"]
    done = fay("settings", "set", file, "--password-file", tmp_path / "p", "--slug", "x", "--views", "3",
               "brand.toolbarTheme=dark", "flip.rtl=true", "page.shadow=1", "--mode", "swipe", "--json")  # fmt: skip
    assert (done.code, done.out) == (6, "")
    assert done.error["code"] == "plan_required"
    assert done.error["hint"] == (
        "Settings and the plan they require: viewLimit, password, flip.rtl: basic; slug, brand.toolbarTheme: pro. "
        "Leave them out, or upgrade."
    )
    assert world.fay.get(f"/api/v1/files/{file}").get_json()["viewerMode"] == "standard"


def test_a_taken_slug_exits_with_7_and_an_expired_link_with_8(shell_for: MakeShell, world: World) -> None:
    pia = shell_for(world.pia)
    first, second = (world.pia.upload()["shortId"] for _ in range(2))
    assert pia("settings", "set", first, "--slug", "q3").code == 0
    assert pia("settings", "set", second, "--slug", "q3").code == 7
    assert pia("settings", "set", first, "deleteAt=2020-01-01T00:00:00Z").code == 0
    assert pia("settings", "set", first, "--slug", "q4").code == 8


# --- many files ------------------------------------------------------------------------------------------------------


def test_several_files_are_written_and_a_failure_among_them_exits_with_12(settings_api: FakeApi, shell: Shell) -> None:
    settings_api.on("PUT", f"/files/{OTHER}/settings", problem(410, "gone", "dead"))
    done = shell("settings", "set", OTHER, ID, "--views", "3", "--no-read-back", "--json")
    assert done.code == 12
    failed, fine = done.json
    assert (failed["id"], failed["error"]["exit"]) == (OTHER, 8)
    assert fine == {"id": ID, "uuid": ID, "sent": {"viewLimit": 3}}
    piped = shell("settings", "set", OTHER, ID, "--views", "3", "--no-read-back")
    assert (piped.code, piped.out) == (12, "")
    assert f"error: {OTHER}: dead" in piped.err


def test_a_terminal_shows_one_line_per_file(settings_api: FakeApi, shell: Shell) -> None:
    settings_api.on("GET", f"/files/{OTHER}", FILE | {"shortId": OTHER})
    settings_api.on("PUT", f"/files/{OTHER}/settings", b"")
    shell.tty = True
    done = shell("settings", "set", ID, OTHER, "--slug", "q2", "--no-color")
    assert done.lines == [f'updated {ID}: slug "q2"', f'updated {OTHER}: slug "q2"']


def test_ids_are_read_from_stdin_only_once(settings_api: FakeApi, shell: Shell) -> None:
    assert shell("settings", "set", "-", "--slug", "q2", stdin=f"{ID}\tx\n".encode()).code == 0
    assert list_written_settings(settings_api) == [{"slug": "q2"}]
    both = shell("settings", "set", "-", "--password-file", "-", stdin=f"{ID}\n".encode())
    assert both.code == 2
    assert "only one value can come from stdin" in both.err
    assert shell("settings", "apply", "-", "-f", "-", stdin=b"{}").code == 2


def test_a_share_link_with_an_equals_sign_is_a_file_not_a_setting(settings_api: FakeApi, shell: Shell) -> None:
    assert shell("settings", "set", f"https://d.example/{ID}?via=qr", "slug=q2").code == 0
    assert list_written_settings(settings_api) == [{"slug": "q2"}]


# --- dry run ---------------------------------------------------------------------------------------------------------


def test_a_dry_run_prints_the_request_without_the_password_and_writes_nothing(
    settings_api: FakeApi, shell: Shell, tmp_path: Path
) -> None:
    (tmp_path / "p").write_text("geheim")
    line = ("settings", "set", ID, "--password-file", tmp_path / "p", "flip.speedMs=600", "-n")
    body = {"password": "***", "viewerSettings": {"flip": {"speedMs": 600, "rtl": True}, "ga4Id": "G-ABCDEF1234"}}
    done = shell(*line)
    assert done.out == f"PUT\t/api/v1/files/{ID}/settings\t{json.dumps(body)}\n"
    assert list_written_settings(settings_api) == []
    assert shell(*line, "--json").json == [
        {"method": "PUT", "path": f"/api/v1/files/{ID}/settings", "body": json.dumps(body)}
    ]
