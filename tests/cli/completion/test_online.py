"""``complete_online``: completion may query the server, rarely and with a short timeout."""

from __future__ import annotations

import os
import socket
import time as real_time
from pathlib import Path

import pytest

from docshare.cli.completion import online as refreshing
from docshare.cli.completion.online import TIME_LIMIT_S
from docshare.cli.local import completion_words, paths
from tests.cli.commands.fakes.webhooks import FakeWebhooks
from tests.support.outside.fake_api import UUID, FakeApi, problem
from tests.support.shell import TOKEN, Shell

FILE = {"uuid": UUID.format(1), "shortId": "aB3dE5fG7hJ9", "originalName": "new.pdf", "slug": "offer"}
NEW = "aB3dE5fG7hJ9\tnew.pdf\nslug:offer\tnew.pdf\n"
OLD = "oldoldoldold\told.pdf\n"


@pytest.fixture(autouse=True)
def long_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set a timeout that is long enough for a busy machine; the real limit has a test of its own."""
    monkeypatch.setattr(refreshing, "TIME_LIMIT_S", 30.0)


@pytest.fixture
def online_shell(api: FakeApi, shell: Shell) -> Shell:
    """Create a profile with ``complete_online`` and an old cache."""
    api.files = [FILE]
    del shell.env["DOCSHARE_URL"], shell.env["DOCSHARE_TOKEN"]
    assert shell("profile", "add", "work", "--url", api.url, "--with-token", stdin=TOKEN.encode()).code == 0
    assert shell("profile", "use", "work").code == 0
    assert shell("config", "set", "complete_online", "true").code == 0
    assert shell("ls").code == 0
    api.requests.clear()
    age_cache(shell, 61)
    return shell


def find_cache_file(shell: Shell) -> Path:
    (listed,) = (shell.home / "cache" / "complete").glob("files-*")
    return listed


def age_cache(shell: Shell, seconds: float) -> None:
    """Write old words to the cache, last fetched so long ago."""
    find_cache_file(shell).write_text(OLD)
    then = real_time.time() - seconds
    os.utime(find_cache_file(shell), (then, then))


def complete_words(shell: Shell, capsys: pytest.CaptureFixture[str], kind: str = "files") -> str:
    assert completion_words.print_completions([kind, ""], shell.env) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    return shown.out


def test_words_older_than_a_minute_are_fetched_again(
    online_shell: Shell, api: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    assert complete_words(online_shell, capsys) == NEW
    assert api.requests[0].headers["Authorization"] == f"Bearer {TOKEN}"
    assert complete_words(online_shell, capsys) == NEW
    assert len(api.requests) == 1


def test_words_younger_than_a_minute_are_not_fetched(
    online_shell: Shell, api: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    age_cache(online_shell, 30)
    assert (complete_words(online_shell, capsys), api.requests) == (OLD, [])


def test_a_kind_that_was_never_listed_is_fetched(
    online_shell: Shell, api: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    webhook = FakeWebhooks(api).add_webhook()
    assert complete_words(online_shell, capsys, "webhooks") == f"{webhook}\thooks.example.com\n"


def test_kinds_that_need_an_argument_are_never_fetched(
    online_shell: Shell, api: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [complete_words(online_shell, capsys, kind) for kind in ("variants", "profiles", "odd")][2] == ""
    assert api.requests == []


def test_nothing_is_fetched_without_the_setting(
    online_shell: Shell, api: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    assert online_shell("config", "unset", "complete_online").code == 0
    assert (complete_words(online_shell, capsys), api.requests) == (OLD, [])


def test_the_setting_of_the_current_profile_applies(
    online_shell: Shell, api: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    home = find_cache_file(online_shell).with_name("home-work")
    home.with_name("home-other").write_text(home.read_text())
    os.utime(find_cache_file(online_shell), (0, 0))
    online_shell.env["DOCSHARE_PROFILE"] = "other"
    assert (complete_words(online_shell, capsys), api.requests) == (OLD, [])


def test_a_manual_edit_of_the_setting_applies_after_the_next_list(
    online_shell: Shell, api: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    config = online_shell.home / "config" / "config.toml"
    config.write_text(config.read_text().replace("complete_online = true", "complete_online = false"))
    assert online_shell("ls").code == 0
    age_cache(online_shell, 61)
    assert (complete_words(online_shell, capsys), len(api.requests)) == (OLD, 1)


def test_a_failing_server_is_queried_once_a_minute_and_old_words_stay(
    online_shell: Shell, api: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    api.on("GET", "/files", problem(500, "internal"))
    assert [complete_words(online_shell, capsys), complete_words(online_shell, capsys)] == [OLD, OLD]
    assert len(api.requests) == 1


def test_a_server_that_does_not_respond_is_not_waited_for(
    online_shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refreshing, "TIME_LIMIT_S", 0.05)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        online_shell.env["DOCSHARE_URL"] = url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        online_shell.env["DOCSHARE_TOKEN"] = TOKEN
        place = paths.cache_file_name("files", url, paths.hash_credential(TOKEN))
        find_cache_file(online_shell).rename(find_cache_file(online_shell).with_name(place))
        assert complete_words(online_shell, capsys) == OLD


def test_the_time_limit_is_800_ms() -> None:
    """800 ms, written by hand; the other tests allow more."""
    assert TIME_LIMIT_S == 0.8


def test_completion_never_runs_a_token_command(
    online_shell: Shell, api: FakeApi, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert online_shell("config", "set", "token_command", f"touch '{tmp_path}/ran'").code == 0
    assert (complete_words(online_shell, capsys), api.requests, (tmp_path / "ran").exists()) == (OLD, [], False)


@pytest.mark.parametrize(("ends_in", "asked"), [(3600, 1), (30, 0)])
def test_an_access_token_is_used_until_it_expires_and_never_refreshed(
    online_shell: Shell, api: FakeApi, capsys: pytest.CaptureFixture[str], ends_in: int, asked: int
) -> None:
    from docshare.cli.local.credentials import Credential, save

    ends = int((real_time.time() + ends_in) * 1000)
    save(online_shell.home / "config", "work", Credential(api.url, "access1", "refresh1", ends, "docshare-cli"))
    complete_words(online_shell, capsys)
    assert len(api.requests) == asked
