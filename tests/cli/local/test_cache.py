"""``@last`` and the completion cache belong to an account of a server, whatever the profile is called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docshare.cli.local import completion_words, paths
from docshare.client.address import parse_origin
from tests.cli.commands.fakes.uploads import FakeUploads
from tests.support.outside.fake_api import UUID, FakeApi, FakeTime, RecordedRequest, fake_api
from tests.support.shell import TOKEN, Shell

FILE = {"uuid": "0b8e7d5c-3f0e-4f4f-9d0c-2a7b1f6c8e11", "shortId": "aB3dE5fG7hJ9", "originalName": "deck.pdf"}


@pytest.fixture
def work_shell(shell: Shell, api: FakeApi) -> Shell:
    """Create a profile; the environment sets no address and no credential."""
    del shell.env["DOCSHARE_URL"], shell.env["DOCSHARE_TOKEN"]
    assert shell("profile", "add", "work", "--url", api.url, "--with-token", stdin=TOKEN.encode()).code == 0
    return shell


def answer_by_token(api: FakeApi) -> None:
    """Make each token of ``api`` belong to an account of its own."""
    tokens: list[str] = []

    def show(heard: RecordedRequest) -> dict[str, object]:
        tokens.append(heard.headers["Authorization"])
        return {"uuid": UUID.format(90 + tokens.index(tokens[-1])), "tier": "pro"}

    api.on("GET", "/user", show)


def complete_files(shell: Shell, capsys: pytest.CaptureFixture[str], **env: str) -> str:
    assert completion_words.print_completions(["files", ""], {**shell.env, **env}) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("other", [{"DOCSHARE_TOKEN": "ds_live_other"}, {"DOCSHARE_URL": "http://127.0.0.1:9"}])
def test_last_belongs_to_the_current_account_and_server(
    work_shell: Shell, fake_uploads: FakeUploads, api: FakeApi, deck: Path, other: dict[str, str]
) -> None:
    answer_by_token(api)
    assert work_shell("upload", deck).code == 0
    found = work_shell("files", "show", "@last", env={"DOCSHARE_TOKEN": TOKEN, **other})
    assert (found.code, "no file has been uploaded" in found.err) == (2, True)
    assert can_show_last(work_shell, api)


def can_show_last(shell: Shell, api: FakeApi, *options: str) -> bool:
    api.on("GET", f"/files/{UUID.format(1)}", FILE)
    return shell("files", "show", "@last", *options).code == 0


def test_profiles_of_the_same_account_share_last(
    work_shell: Shell, fake_uploads: FakeUploads, api: FakeApi, deck: Path
) -> None:
    answer_by_token(api)
    assert work_shell("profile", "add", "same", "--url", api.url, "--with-token", stdin=TOKEN.encode()).code == 0
    assert work_shell("upload", deck).code == 0
    assert can_show_last(work_shell, api, "--profile", "same")
    assert work_shell("profile", "add", "own", "--url", api.url, "--with-token", stdin=b"ds_live_own").code == 0
    assert work_shell("files", "show", "@last", "--profile", "own").code == 2


def test_entries_by_profile_of_an_older_version_are_dropped(
    work_shell: Shell, fake_uploads: FakeUploads, deck: Path
) -> None:
    state = work_shell.home / "state" / "last.json"
    state.parent.mkdir(parents=True, exist_ok=True)
    state.write_text(json.dumps({"work": {"uuid": FILE["uuid"], "shareUrl": "http://127.0.0.1:1/x"}}))
    assert work_shell("show", "@last").code == 2
    assert work_shell("upload", deck).code == 0
    assert "work" not in json.loads(state.read_text())


def test_last_is_kept_for_the_hundred_newest_accounts(
    work_shell: Shell, fake_uploads: FakeUploads, api: FakeApi, deck: Path
) -> None:
    state = work_shell.home / "state" / "last.json"
    state.parent.mkdir(parents=True, exist_ok=True)
    olds = [f"http://127.0.0.1:{port} {UUID.format(8)}" for port in range(9000, 9150)]
    state.write_text(json.dumps(dict.fromkeys(olds, FILE)))
    assert work_shell("upload", deck).code == 0
    kept = list(json.loads(state.read_text()))
    assert kept[:-1] == olds[-99:]
    assert can_show_last(work_shell, api)


def test_completions_belong_to_the_current_server_and_account(
    work_shell: Shell, api: FakeApi, time: FakeTime, capsys: pytest.CaptureFixture[str]
) -> None:
    api.files = [FILE]
    old = work_shell.home / "cache" / "complete" / "files-work"
    old.parent.mkdir(parents=True, exist_ok=True)
    old.write_text("oldoldoldold\told.pdf\n")
    assert work_shell("ls").code == 0
    assert not old.exists()
    with fake_api() as other:
        other.files = [{**FILE, "shortId": "zzzzzzzzzzzz"}]
        there = {"DOCSHARE_URL": f"{other.url}/", "DOCSHARE_TOKEN": "ds_live_gone"}
        assert work_shell("ls", env=there).code == 0
    assert complete_files(work_shell, capsys) == "aB3dE5fG7hJ9\tdeck.pdf\n"
    assert complete_files(work_shell, capsys, **there) == "zzzzzzzzzzzz\tdeck.pdf\n"
    assert complete_files(work_shell, capsys, DOCSHARE_TOKEN="ds_live_gone") == ""


def test_completions_of_a_profile_with_another_account_are_not_reused(
    work_shell: Shell, api: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    api.files = [FILE]
    assert work_shell("ls").code == 0
    assert complete_files(work_shell, capsys) != ""
    made = work_shell("profile", "add", "work", "--url", api.url, "--with-token", "--force", stdin=b"ds_live_other")
    assert made.code == 0
    assert complete_files(work_shell, capsys) == ""


@pytest.mark.parametrize(
    "url",
    [
        "https://Docs.Example.com:443/base/", "http://127.0.0.1:8787", "http://[::1]:80/x?y", "https://h:8443#z",
        "http://docs.example:443",
    ],
)  # fmt: skip
def test_completion_parses_urls_like_the_library(url: str) -> None:
    assert paths.parse_origin(url) == parse_origin(url)
