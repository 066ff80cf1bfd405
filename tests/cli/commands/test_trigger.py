"""``docshare trigger`` against a real server: output, waiting for deliveries, and errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from docshare.cli.framework.admin_channel import RunningServer
from docshare.contract.problems import Problem
from tests.support.documents.pdfs import simple_pdf
from tests.support.outside.fake_api import FakeApi, FakeResponse, FakeTime
from tests.support.servers.server_process import ServerProcess, make_env, run_docshare, run_server
from tests.support.shell import CommandResult, Shell


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Yield a separate server with its data directory."""
    with run_server(tmp_path_factory.mktemp("server")) as server:
        yield server


class TriggerShell:
    """A shell on the machine of the server. ``made``: the upload result of its file."""

    def __init__(self, server_process: ServerProcess, shell: Shell) -> None:
        self.server_process, self.shell = server_process, shell
        self.data = server_process.data_dir
        self._session = requests.Session()
        self._session.headers.update(server_process.headers)
        self.made = self._request("POST", "", files={"file": ("deck.pdf", simple_pdf(pages=5))})

    def _request(self, method: str, path: str, **more: Any) -> Any:
        answer = self._session.request(method, f"{self.server_process.url}/api/v1/files{path}", timeout=20, **more)
        assert answer.ok, answer.text
        return answer.json() if answer.content else None

    def put_settings(self, **values: Any) -> None:
        self._request("PUT", f"/{self.made['uuid']}/settings", json=values)

    def list_activity(self) -> list[dict[str, Any]]:
        """Return the activity of the file, oldest first."""
        path = f"{self.server_process.url}/api/v1/activity?file={self.made['uuid']}&limit=100"
        rows: list[dict[str, Any]] = self._session.get(path, timeout=20).json()
        return rows[::-1]

    def create_listener(self, url: str) -> None:
        """Subscribe ``url`` to the events of the file for a minute."""
        key = (self.data / "instance.key").read_text().strip()
        body = {"command": "listen start", "args": {"url": url, "file": self.made["uuid"]}}
        headers = {"Authorization": f"Instance {key}"}
        answer = requests.post(f"{self.server_process.url}/_admin", json=body, headers=headers, timeout=20)
        assert answer.ok, answer.text

    def trigger(self, *words: str) -> CommandResult:
        """Run the command on fake time."""
        return self.shell("trigger", words[0], "--file", self.made["shortId"], "--data", self.data, *words[1:])


@pytest.fixture
def trigger_shell(own_server: ServerProcess, shell: Shell) -> Iterator[TriggerShell]:
    opened = TriggerShell(own_server, shell)
    yield opened
    opened._session.close()


def test_burning_accepts_the_id_of_the_file_as_confirmation(trigger_shell: TriggerShell) -> None:
    trigger_shell.put_settings(viewLimit=1)
    named = trigger_shell.made["shortId"]
    refused = trigger_shell.trigger("file.burned")
    assert (refused.code, f"--confirm {named}" in refused.err) == (2, True)
    assert trigger_shell.trigger("file.burned", "--confirm", "other").code == 2
    done = trigger_shell.trigger("file.burned", "--confirm", named, "--json")
    assert (done.code, done.rows[0]["event"]) == (0, "file.burned")


# --- output ----------------------------------------------------------------------------------------------------------


def test_json_contains_the_row_of_the_activity_feed_and_the_deliveries(trigger_shell: TriggerShell) -> None:
    done = trigger_shell.trigger("file.viewed", "--set", "pagesViewed=2", "--set", "timeMs=5000", "--json")
    assert done.code == 0, done.err
    (found,) = done.rows
    assert found.pop("deliveries") == []
    assert [found] == trigger_shell.list_activity()
    assert (found["data"]["pagesViewed"], found["data"]["timeMs"]) == (2, 5000)


def test_a_pipe_gets_one_line_per_event(trigger_shell: TriggerShell) -> None:
    number, event, timestamp, data, deliveries = trigger_shell.trigger("file.downloaded").out.rstrip("\n").split("\t")
    (row,) = trigger_shell.list_activity()
    assert (int(number), event, timestamp, json.loads(data)) == (
        row["id"], "file.downloaded", row["timestamp"], row["data"],
    )  # fmt: skip
    assert deliveries == "[]"
    assert trigger_shell.trigger("file.downloaded", "--format", "ids").out.strip().isdigit()


def test_a_terminal_shows_the_event_and_the_number_of_deliveries(trigger_shell: TriggerShell, api: FakeApi) -> None:
    trigger_shell.shell.tty = True
    assert (
        trigger_shell.trigger("file.viewed", "--no-color").out == "file.viewed  deck.pdf  no webhook subscribes to it\n"
    )
    trigger_shell.create_listener(f"{api.url}/api/v1/hook")
    assert trigger_shell.trigger("file.viewed", "--no-color").out == "file.viewed  deck.pdf  1 delivery\n"


def test_count_and_every_repeat_the_event_with_a_pause(trigger_shell: TriggerShell, time: FakeTime) -> None:
    trigger_shell.put_settings(askReceipt=True)
    done = trigger_shell.trigger("receipt.confirmed", "--count", "3", "--every", "2s", "--set", "name=Ann", "--json")
    assert [row["data"]["name"] for row in done.rows] == ["Ann"] * 3
    assert [row["id"] for row in trigger_shell.list_activity()] == [row["id"] for row in done.rows]
    assert time.passed == 4


def test_values_can_be_read_from_a_file_and_set_overrides_them(trigger_shell: TriggerShell, tmp_path: Path) -> None:
    trigger_shell.put_settings(gateFields=[
        {"key": "who", "label": "You", "type": "email", "required": True},
        {"key": "firm", "label": "Firm", "type": "company", "required": True},
    ])  # fmt: skip
    (tmp_path / "values.json").write_text(json.dumps({"email": "a@b.example", "fields": {"firm": "Acme"}}))
    line = ("gate.completed", "--raw", str(tmp_path / "values.json"), "--set", "fields.firm=Other", "--json")
    (row,) = trigger_shell.trigger(*line).rows
    assert row["data"]["fields"] == {"who": "a@b.example", "firm": "Other"}


def test_a_file_can_be_given_as_uuid_link_or_slug(trigger_shell: TriggerShell) -> None:
    slug = f"deck-{trigger_shell.made['shortId'].lower()}"
    trigger_shell.put_settings(slug=slug)
    for word in (trigger_shell.made["uuid"], trigger_shell.made["shareUrl"], f"slug:{slug}"):
        assert trigger_shell.shell("trigger", "file.viewed", "--file", word, "--data", trigger_shell.data).code == 0
    assert len(trigger_shell.list_activity()) == 3


def test_a_word_that_names_no_file_gets_a_hint_with_all_ways_to_name_one(trigger_shell: TriggerShell) -> None:
    failed = trigger_shell.shell("trigger", "file.viewed", "--file", "my-deck", "--data", trigger_shell.data)
    assert failed.code == 2
    assert "'my-deck' is not a file" in failed.err
    assert "Use UUID, short id, share link, slug:NAME, or @last." in failed.err


def test_a_dry_run_prints_the_event_and_changes_nothing(trigger_shell: TriggerShell) -> None:
    found = trigger_shell.trigger("file.viewed", "--set", "pagesViewed=2", "-n", "--json").json
    assert found == {
        "event": "file.viewed",
        "fileUuid": trigger_shell.made["uuid"],
        "fileName": "deck.pdf",
        "link": trigger_shell.made["shareUrl"],
        "values": {"pagesViewed": 2, "timeMs": 40_000},
    }
    assert trigger_shell.trigger("content.replaced", "-n").code == 0
    assert trigger_shell.list_activity() == []


# --- waiting for the delivery ----------------------------------------------------------------------------------------


def run_and_wait(trigger_shell: TriggerShell, tmp_path: Path, *words: str) -> CommandResult:
    """Run the command in a process of its own, since the server delivers in real time."""
    line = (
        "trigger",
        "file.downloaded",
        "--file",
        trigger_shell.made["shortId"],
        "--data",
        str(trigger_shell.data),
        "--wait",
    )
    done = run_docshare(*line, *words, env=make_env(tmp_path / "user"))
    return CommandResult(done.returncode, done.stdout, done.stderr)


def test_wait_prints_the_attempt_that_delivered_the_event(
    trigger_shell: TriggerShell, api: FakeApi, tmp_path: Path
) -> None:
    api.on("POST", "/hook", FakeResponse({}, 204))
    trigger_shell.create_listener(f"{api.url}/api/v1/hook")
    done = run_and_wait(trigger_shell, tmp_path, "--json")
    assert done.code == 0, done.err
    (row,) = done.rows
    (delivery,) = row["deliveries"]
    assert (delivery["state"], delivery["attempts"][0]["status"]) == ("delivered", 204)
    (heard,) = api.list_requests("POST", "/hook")
    assert json.loads(heard.body) == {key: row[key] for key in ("event", "timestamp", "data")}
    happened, answered = run_and_wait(trigger_shell, tmp_path, "--format", "table").lines
    assert happened == "file.downloaded  deck.pdf  1 delivery"
    assert answered.startswith(f"  {api.url}/api/v1/hook  204 in ")


def test_wait_for_a_delivery_that_fails_exits_with_13(
    trigger_shell: TriggerShell, api: FakeApi, tmp_path: Path
) -> None:
    api.on("POST", "/hook", FakeResponse({}, 500))
    trigger_shell.create_listener(f"{api.url}/api/v1/hook")
    done = run_and_wait(trigger_shell, tmp_path, "--json")
    assert (done.code, done.rows[0]["deliveries"][0]["state"]) == (13, "queued")
    assert "not delivered to" in done.err
    assert "500" in done.err
    assert "next attempt at" in done.err


def test_wait_without_a_subscribed_webhook_exits_with_13(trigger_shell: TriggerShell, tmp_path: Path) -> None:
    done = run_and_wait(trigger_shell, tmp_path)
    assert (done.code, "no webhook subscribes to file.downloaded of this file" in done.err) == (13, True)


# --- errors ----------------------------------------------------------------------------------------------------------


def test_a_remote_server_has_no_trigger(shell: Shell, api: FakeApi) -> None:
    done = shell("trigger", "file.viewed", "--file", "aB3dE5fG7h01", env={"DOCSHARE_URL": "https://docs.example"})
    assert (done.code, done.out) == (2, "")
    assert "trigger requires a server on this machine" in done.err
    assert "webhooks test, sample, or replay" in done.err
    assert api.requests == []


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (("note.created",), 7, "commentsEnabled=true commentsAllowPublic=true"),
        (("gate.completed",), 7, "requireEmail=true"),
        (("file.burned", "--yes"), 7, "viewLimit=1"),
        (("file.viewed", "--variant", "label:None"), 3, ""),
    ],
)
def test_an_event_that_the_file_does_not_allow_has_its_exit_code_and_hint(
    trigger_shell: TriggerShell, words: tuple[str, ...], code: int, hint: str
) -> None:
    done = trigger_shell.trigger(*words)
    assert (done.code, done.out, hint in done.err) == (code, "", True), done.err
    assert trigger_shell.list_activity() == []


@pytest.mark.parametrize(
    ("kind", "value", "code", "hint"),
    [
        ("file.viewed", "email=notmail", 9, "--set email. This must be an email address such as ada@example.com."),
        ("gate.completed", "email=notmail", 9, "--set email. This must be an email address"),
        ("file.viewed", "email=a@other.example", 5, "--set email. Use an address at acme.example."),
        ("file.downloaded", "fields.firm=", 9, "--set fields.firm. This field is required."),
    ],
)
def test_a_value_that_the_form_rejects_has_a_hint_that_names_it(
    trigger_shell: TriggerShell, kind: str, value: str, code: int, hint: str
) -> None:
    trigger_shell.put_settings(
        gateDomains=["acme.example"],
        gateFields=[
            {"key": "who", "label": "You", "type": "email", "required": True},
            {"key": "firm", "label": "Firm", "type": "company", "required": True},
        ],
    )
    done = trigger_shell.trigger(kind, "--set", value)
    assert (done.code, f"hint: Change {hint}" in done.err) == (code, True), done.err
    assert trigger_shell.list_activity() == []


def test_destructive_events_require_confirmation(trigger_shell: TriggerShell) -> None:
    trigger_shell.put_settings(viewLimit=1)
    for kind in ("file.burned", "content.replaced"):
        done = trigger_shell.trigger(kind)
        assert (done.code, done.out) == (2, "")
    assert trigger_shell.trigger("file.viewed").code == 7
    assert trigger_shell.list_activity() == []
    assert trigger_shell.trigger("content.replaced", "--yes").code == 0
    assert trigger_shell.trigger("file.burned", "--yes").code == 0
    assert [row["event"] for row in trigger_shell.list_activity()] == ["content.replaced", "file.burned"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("file.seen",), "There is no event kind 'file.seen'."),
        (("webhook.test",), "There is no event kind 'webhook.test'."),
        (("file.viewed", "--set", "pages=3"), "Keys: pagesViewed, timeMs, email, fields.NAME."),
        (("file.viewed", "--set", "timeMs=long"), "timeMs: 'long' is not a whole number"),
        (("file.viewed", "--set", "timeMs"), "must have the form KEY=VALUE"),
        (("file.viewed", "--count", "0"), "--count"),
        (("file.viewed", "--every", "soon"), "soon"),
        (("file.viewed", "--raw", "missing.json"), "cannot read"),
        (("file.viewed", "--raw", "list.json"), "is not a JSON object"),
        (("file.viewed", "--raw", "deep.json"), "is not a string or an integer"),
        (("file.viewed", "--raw", "bad.json"), "is not valid JSON"),
    ],
)
def test_an_invalid_command_line_exits_with_2(
    trigger_shell: TriggerShell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    for name, content in (("list", "[]"), ("deep", '{"timeMs": {"a": {"b": 1}}}'), ("bad", "{")):
        (tmp_path / f"{name}.json").write_text(content)
    monkeypatch.chdir(tmp_path)
    done = trigger_shell.trigger(*words)
    assert (done.code, done.out, said in done.err) == (2, "", True), done.err
    assert trigger_shell.list_activity() == []


def test_a_webhook_that_is_deleted_during_the_wait_is_not_a_failure(
    trigger_shell: TriggerShell, api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.on("POST", "/hook", FakeResponse({}, 204))
    trigger_shell.create_listener(f"{api.url}/api/v1/hook")
    ask = RunningServer.run_command

    def run_and_delete_webhook(self: RunningServer, command: str, args: dict[str, str]) -> Any:
        if command == "deliveries show":
            raise Problem("not_found", "There is no such delivery.")
        return ask(self, command, args)

    monkeypatch.setattr(RunningServer, "run_command", run_and_delete_webhook)
    done = trigger_shell.trigger("file.downloaded", "--wait", "--json")
    assert (done.code, done.rows[0]["deliveries"]) == (0, [])
    assert "1 subscribed webhook was deleted in the meantime" in done.err


def test_file_is_required(shell: Shell, tmp_path: Path) -> None:
    done = shell("trigger", "file.viewed", "--data", tmp_path)
    assert (done.code, "--file is required" in done.err) == (2, True)


def test_without_a_running_server_the_event_is_recorded_but_wait_exits_with_11(shell: Shell, tmp_path: Path) -> None:
    with run_server(tmp_path) as server:
        files = {"file": ("deck.pdf", simple_pdf())}
        made = requests.post(f"{server.url}/api/v1/files", headers=server.headers, files=files, timeout=20).json()
    line = ("trigger", "file.viewed", "--file", made["shortId"], "--data", server.data_dir)
    done = shell(*line, "--wait")
    assert (done.code, done.out, "no docshare server is running" in done.err) == (11, "", True)
    assert [row["event"] for row in shell(*line, "--json").rows] == ["file.viewed"]
