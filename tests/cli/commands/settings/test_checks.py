"""``docshare settings``: values that are rejected before anything is sent, and the error messages."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.outside.fake_api import UUID, FakeApi
from tests.support.repository import ROOT
from tests.support.shell import Shell
from tests.support.terminal import Terminal

ID = "aB3dE5fG7hJ9"
FILE: dict[str, Any] = {"uuid": UUID.format(1), "shortId": ID, "originalName": "deck.pdf", "viewerSettings": {}}


@pytest.fixture
def settings_api(api: FakeApi) -> FakeApi:
    """Return a server that accepts any settings and shows a file without any."""
    api.on("GET", f"/files/{ID}", FILE)
    api.on("PUT", f"/files/{ID}/settings", b"")
    return api


def list_written_settings(api: FakeApi) -> list[Any]:
    return [json.loads(heard.body) for heard in api.list_requests("PUT", f"/files/{ID}/settings")]


# arguments, and the text that the error must contain
REJECTED: list[tuple[list[str], str]] = [
    (["viewLimit=1000001"], "viewLimit must be an integer from 0 to 1000000"),
    (["viewLimit=many"], "viewLimit must be an integer from 0 to 1000000"),
    (["viewLimit=1.5"], "viewLimit must be an integer from 0 to 1000000"),
    (["viewLimit:=true"], "viewLimit must be an integer from 0 to 1000000"),
    (["--views", "-1"], "viewLimit must be an integer from 0 to 1000000"),
    (["flip.speedMs=199"], "flip.speedMs must be an integer from 200 to 1200"),
    (["flip.speedMs=1201"], "flip.speedMs must be an integer from 200 to 1200"),
    (["flip.speedMs:=300.5"], "flip.speedMs must be an integer from 200 to 1200"),
    (["swipe.intervalMs=2999"], "from 3000 to 30000"),
    (["background.blur=21"], "background.blur must be an integer from 0 to 20"),
    (["background.dim=81"], "background.dim must be an integer from 0 to 80"),
    (["page.shadow=4"], "page.shadow must be an integer from 0 to 3"),
    (["watermarkStyle.opacity=0.04"], "watermarkStyle.opacity must be a number from 0.05 to 0.5"),
    (["watermarkStyle.opacity=nan"], "from 0.05 to 0.5"),
    (["--watermark-opacity", "0.6"], "from 0.05 to 0.5"),
    (["flip.layout=wide"], "flip.layout must be one of adaptive, single, double"),
    (["--mode", "cards"], "viewerMode must be one of standard, flipbook, swipe, magazine"),
    (["allowDownload=yes"], "allowDownload must be true or false"),
    (["flip.rtl:=1"], "flip.rtl must be true or false"),
    (["brand.accentColor=red"], "#RRGGBB"),
    (["--brand", "#ff"], "#RRGGBB"),
    (["--background", "pink"], "--background pink: background.color must be a color"),
    (["--background", "pink"], "Use #RRGGBB, dusk, sand, slate, forest, blush, mono, asset:ID or none."),
    (["ga4Id=UA-1"], "G-XXXXXXXXXX"),
    (["logo.linkUrl=http://x.example"], "https://"),
    (["--logo", "asset:7"], "logo.assetId must be a UUID"),
    (["cta.label=" + "x" * 41, "cta.url=https://x.example"], "cta.label must be a string of 1 to 40 characters"),
    (["--cta-label", "Book"], "cta must have url"),
    (["--cta-label", "Book"], "both --cta-label and --cta-url"),
    (["--cta-url", "https://x.example"], "cta must have label"),
    (["--slug", "Q3"], "slug must be 1 to 64 lowercase letters, digits, or hyphens"),
    (["--slug", "api"], "'api' is reserved"),
    (["--slug", ""], "slug is empty"),
    (["slug="], "settings clear FILE slug"),
    (["deleteAt="], "settings clear FILE deleteAt"),
    (["--pages", "3-2"], "pages 3-2: the first page comes after the last"),
    (['pageRange:={"from":3,"to":1}'], "pages 3-1: the first page comes after the last"),
    (["--pages", "0-2"], "pages 0-2: page numbers start at 1"),
    (["--pages", "1-50001"], "pages 1-50001: a file has at most 50000 pages"),
    (['pageRange:={"from":3}'], "1 <= from <= to"),
    (["--pages", "a-b"], "is not a page range"),
    (["pageRange=5-"], "is not a page range"),
    (["--email-domain", "nodot"], "gateDomains[0] must be a bare domain"),
    (["gateDomains:=" + json.dumps(["a.org"] * 21)], "up to 20 domains"),
    (['gateFields:=[{"key":"a","label":"A","type":"text"}]'], "exactly one field of type email"),
    (["gateFields=form"], "gateFields is not valid JSON"),
    (["gateFields:={"], "gateFields is not valid JSON"),
    (['pageRange:={"from":1,"to":2,"to":3}'], "pageRange is not valid JSON: duplicate key to"),
    (["slug=@/nowhere.json"], "slug: cannot read /nowhere.json"),
    (["--gate", "/nowhere.json"], "--gate: cannot read /nowhere.json"),
    (["--from-file", "/nowhere.json"], "--from-file: cannot read /nowhere.json"),
    (["--expires", "soon"], "--expires: 'soon' is not a time"),
    (["--expires", "7"], "'7' is not a time"),
    (["--expires", "2026-13-01"], "is not a time"),
    (["--expires", "999999999d"], "is not a time"),
    (["--expires", "2020-01-01"], "is in the past"),
    (["--expires", "0s"], "is in the past"),
    (["--expires", "7d", "neverExpire=true"], "cannot be used together"),
    (["--expires", "never", "deleteAt=2030-01-01T00:00:00Z"], "cannot be used together"),
    (["deleteAt:=7"], "deleteAt must be an ISO 8601 datetime"),
    (["--slug", "a", "slug=b"], "slug is given more than once"),
    (["flip.rtl=true", "viewerSettings.flip.rtl=false"], "flip.rtl is given more than once"),
    (["speed=3"], "unknown setting 'speed'"),
    (["flip.speed=3"], "Did you mean flip.speedMs"),
    (["viewerMod=swipe"], "Did you mean viewerMode?"),
    (['flip:={"speed":3}'], "Did you mean flip.speedMs"),
    (["flip:=7"], "unknown setting 'flip'"),
    (["viewerSettings:=7"], "viewerSettings must be an object"),
    (["password=abc"], "--password-file F or --password-prompt"),
    (["password="], "--password-file F or --password-prompt"),
    (["password:=null"], "--password-file F or --password-prompt"),
    (["--set", "password=abc"], "--password-file F or --password-prompt"),
    (["--set", "slug"], "'slug' is not a setting"),
    (["--password-file", "/nowhere"], "--password-file: cannot read /nowhere"),
    (["--password-prompt"], "cannot prompt for the password here"),
    (["--password-prompt", "--password-file", "x"], "cannot be used together"),
    (["--from-file", "-", "--password-file", "-"], "only one value can come from stdin"),
    ([], "no settings given"),
]


@pytest.mark.parametrize(("words", "named"), REJECTED, ids=[" ".join(words)[:40] or "nothing" for words, _ in REJECTED])
def test_an_invalid_value_exits_with_2_names_the_valid_ones_and_writes_nothing(
    settings_api: FakeApi, shell: Shell, words: list[str], named: str
) -> None:
    done = shell("settings", "set", ID, *words)
    assert (done.code, done.out) == (2, "")
    assert named in done.err
    assert list_written_settings(settings_api) == []


@pytest.mark.parametrize("form", [[{"key": "a", "label": "A", "type": "text"}], {"key": "a"}])
def test_an_invalid_form_is_reported_with_its_file_and_the_expected_shape(
    settings_api: FakeApi, shell: Shell, tmp_path: Path, form: Any
) -> None:
    (tmp_path / "f.json").write_text(json.dumps(form))
    done = shell("settings", "set", ID, "--gate", tmp_path / "f.json")
    assert (done.code, list_written_settings(settings_api)) == (2, [])
    assert f"--gate {tmp_path / 'f.json'}: gateFields must be" in done.err
    assert "exactly one has the type email" in done.err


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [
        ("a.json", '{"viewLimit": -1}', "from 0 to 1000000"),
        ("a.json", '{"password": "abc"}', "--password-file"),
        ("a.json", '{"slug": "a", "tint": 1}', "unknown setting 'tint'"),
        ("a.json", "[1]", "does not contain a settings object"),
        ("a.json", "slug = 'x'", "is not valid JSON"),
        ("a.json", '{"viewLimit": NaN}', "is not valid JSON"),
        ("a.toml", "slug = ", "is not valid TOML"),
        ("a.toml", "deleteAt = 12:00:00", "deleteAt"),
        ("a.json", '{"neverExpire": true, "deleteAt": "2030-01-01T00:00:00Z"}', "cannot be used together"),
        ("a.json", '{"viewerSettings": {"flip": {"speedMs": 1}}}', "from 200 to 1200"),
        ("a.json", "[" * 100_000, "is not valid JSON"),
        ("a.json", '{"viewLimit": 1, "slug": "a", "viewLimit": 5}', "duplicate key viewLimit"),
        ("a.json", '{"viewerSettings": {"flip": {"rtl": true, "rtl": false}}}', "duplicate key rtl"),
    ],
)
def test_a_settings_file_is_validated_in_the_same_way(
    settings_api: FakeApi, shell: Shell, tmp_path: Path, name: str, text: str, named: str
) -> None:
    (tmp_path / name).write_text(text)
    for line in (["set", ID, "--from-file"], ["apply", ID, "-f"]):
        done = shell("settings", *line, tmp_path / name)
        assert (done.code, done.out) == (2, "")
        assert named in done.err
    assert list_written_settings(settings_api) == []


def test_a_file_that_is_not_utf_8_is_rejected(settings_api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "p").write_bytes(b"\xff\xfe")
    done = shell("settings", "set", ID, "--password-file", tmp_path / "p")
    assert done.code == 2
    assert "it is not UTF-8" in done.err


def test_a_byte_order_mark_is_not_part_of_a_password(settings_api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "p").write_bytes(b"\xef\xbb\xbfopen sesame\r\n")
    done = shell("settings", "set", ID, "--password-file", tmp_path / "p")
    assert done.code == 0
    assert list_written_settings(settings_api) == [{"password": "open sesame"}]


@pytest.mark.parametrize("raw", [b"a\nb\n", b"a\tb", b"x" * 129])
def test_an_invalid_password_is_neither_sent_nor_printed(
    settings_api: FakeApi, shell: Shell, tmp_path: Path, raw: bytes
) -> None:
    (tmp_path / "p").write_bytes(raw)
    done = shell("settings", "set", ID, "--password-file", tmp_path / "p")
    assert done.code == 2
    assert "password must be 1 to 128 bytes" in done.err
    assert raw.decode().strip() not in done.err
    assert list_written_settings(settings_api) == []


@pytest.mark.parametrize(("raw", "word"), [(b" a b \n", " a b "), (b"x\r\n", "x"), (b"no break", "no break")])
def test_the_password_is_the_content_of_the_file_without_the_final_line_break(
    settings_api: FakeApi, shell: Shell, tmp_path: Path, raw: bytes, word: str
) -> None:
    (tmp_path / "p").write_bytes(raw)
    shell("settings", "set", ID, "--password-file", tmp_path / "p")
    assert list_written_settings(settings_api) == [{"password": word}]


@pytest.mark.parametrize(("first", "second", "code"), [("sesam öffne", "sesam öffne", 0), ("sesam", "mases", 2)])
def test_the_password_prompt_asks_twice_and_hides_the_input(
    settings_api: FakeApi, shell: Shell, first: str, second: str, code: int
) -> None:
    # Not the environment of the tests: nothing is prompted in CI.
    env = {"PATH": os.environ["PATH"], **shell.env, "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)}
    with Terminal([sys.executable, "-m", "docshare", "settings", "set", ID, "--password-prompt"], env) as terminal:
        terminal.wait_for_text("Password: ")
        terminal.type(f"{first}\n")
        terminal.wait_for_text("Repeat password: ")
        terminal.type(f"{second}\n")
        ended = terminal.wait_for_exit()
    assert ended.code == code
    assert first not in ended.text
    assert list_written_settings(settings_api) == ([{"password": first}] if code == 0 else [])


@pytest.mark.parametrize("typed", [[], ["sesam"]])
def test_the_end_of_input_at_a_password_prompt_changes_nothing(
    settings_api: FakeApi, shell: Shell, typed: list[str]
) -> None:
    env = {"PATH": os.environ["PATH"], **shell.env, "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)}
    with Terminal([sys.executable, "-m", "docshare", "settings", "set", ID, "--password-prompt"], env) as terminal:
        for word in typed:
            terminal.wait_for_text("Password: ")
            terminal.type(f"{word}\n")
        terminal.wait_for_text("Repeat password: " if typed else "Password: ")
        terminal.type("\x04")
        ended = terminal.wait_for_exit()
    assert ended.code == 2
    assert "no input; nothing was changed" in ended.text
    assert list_written_settings(settings_api) == []


def test_no_validate_sends_values_unchanged(settings_api: FakeApi, shell: Shell) -> None:
    done = shell("settings", "set", ID, "--no-validate", "viewLimit:=-1", "flip.speedMs=5000", "flip.new=1", "later=x")
    assert done.code == 0
    assert list_written_settings(settings_api) == [
        {"viewLimit": -1, "later": "x", "viewerSettings": {"flip": {"speedMs": 5000, "new": "1"}}}
    ]


@pytest.mark.parametrize("words", [["nonsense"], ["password", "nonsense"], ["--", "-1"]])
def test_clear_rejects_an_argument_that_is_neither_a_setting_nor_a_file(
    settings_api: FakeApi, shell: Shell, words: list[str]
) -> None:
    done = shell("settings", "clear", ID, *words)
    assert done.code == 2
    assert list_written_settings(settings_api) == []


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("pasword", "password"),
        ("expirey", "expiry"),
        ("flip.speed", "flip.speedMs"),
        ("pagerange", "page-range or pageRange"),
        ("notifyOnVeiw", "notifyOnView"),
    ],
)
def test_clear_does_not_treat_a_misspelled_setting_as_a_file(
    settings_api: FakeApi, shell: Shell, word: str, meant: str
) -> None:
    done = shell("settings", "clear", ID, word)
    assert (done.code, list_written_settings(settings_api)) == (2, [])
    assert f"unknown setting '{word}'" in done.err
    assert f"Did you mean {meant}" in done.err


def test_clear_accepts_several_files_in_any_notation(settings_api: FakeApi, shell: Shell) -> None:
    settings_api.files = [{"uuid": UUID.format(2), "slug": "a"}]
    done = shell("settings", "clear", ID, "slug", "slug:a", "zY9xW8vU7tS6", "--dry-run")
    assert [line.split("\t")[1] for line in done.lines] == [
        f"/api/v1/files/{file}/settings" for file in (ID, UUID.format(2), "zY9xW8vU7tS6")
    ]


# --- times -----------------------------------------------------------------------------------------------------------


# Fake time is 2026-09-21T14:13:20Z; the time zone of the tests is that of the machine, so local times are compared as
# such.
@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("7d", "2026-09-28T14:13:20.000Z"),
        ("12h", "2026-09-22T02:13:20.000Z"),
        ("1.5h", "2026-09-21T15:43:20.000Z"),
        ("2w", "2026-10-05T14:13:20.000Z"),
        ("2027-01-31T18:00:00Z", "2027-01-31T18:00:00.000Z"),
        ("2027-01-31T18:00+01:00", "2027-01-31T17:00:00.000Z"),
    ],
)
def test_an_expiry_is_converted_to_utc(settings_api: FakeApi, shell: Shell, text: str, moment: str) -> None:
    assert shell("settings", "set", ID, "--expires", text, "--no-read-back").code == 0
    assert shell("settings", "set", ID, f"deleteAt={text}", "--no-read-back").code == 0
    assert list_written_settings(settings_api) == [{"deleteAt": moment}] * 2


@pytest.mark.parametrize(
    ("zone", "text", "moment"),
    [
        ("UTC", "2027-01-31", "2027-01-31T23:59:59.000Z"),
        ("UTC", "2027-01-31 18:00", "2027-01-31T18:00:00.000Z"),
        ("America/New_York", "2027-01-31", "2027-02-01T04:59:59.000Z"),
        ("America/New_York", "2027-07-31T18:00:30", "2027-07-31T22:00:30.000Z"),
        ("Asia/Tokyo", "2027-01-31 08:00", "2027-01-30T23:00:00.000Z"),
    ],
)
def test_a_time_without_a_zone_is_local_and_a_date_means_the_end_of_the_day(
    settings_api: FakeApi, shell: Shell, monkeypatch: pytest.MonkeyPatch, zone: str, text: str, moment: str
) -> None:
    import time

    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert shell("settings", "set", ID, "--expires", text, "--no-read-back").code == 0
    finally:
        monkeypatch.undo()
        time.tzset()
    assert list_written_settings(settings_api) == [{"deleteAt": moment}]
