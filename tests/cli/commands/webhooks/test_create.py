"""``docshare webhooks create``: local checks, and where the secret is printed or stored."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.cli.commands.fakes.webhooks import EVENT_KINDS, SECRET, URL, FakeWebhooks, webhook_uuid
from tests.support.outside.fake_api import UUID, FakeApi, FakeResponse, problem
from tests.support.repository import ROOT
from tests.support.shell import Shell
from tests.support.terminal import run_on_terminal

ALL = ("webhooks", "create", URL, "--all")
SLACK = "https://hooks.slack.com/services/T0/B0/x"
REMOTE_URL = "https://docs.example"


@pytest.fixture
def fake_webhooks(api: FakeApi) -> FakeWebhooks:
    """Return an account without webhooks."""
    return FakeWebhooks(api)


def get_created_body(webhooks_api: FakeWebhooks) -> object:
    (heard,) = webhooks_api.api.list_requests("POST", "/webhooks")
    return json.loads(heard.body)


# --- request ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "sent"),
    [
        (("--all",), {"events": EVENT_KINDS, "format": "json"}),
        (("--events", "file.viewed"), {"events": ["file.viewed"], "format": "json"}),
        (("--events", "note.created, file.viewed,note.created,"),
         {"events": ["note.created", "file.viewed"], "format": "json"}),
        (("--events", "note.created", "--events", "file.viewed,file.burned"),
         {"events": ["note.created", "file.viewed", "file.burned"], "format": "json"}),
        (("--all", "--format", "slack"), {"events": EVENT_KINDS, "format": "slack"}),
        (("--all", "--file", UUID.format(1)), {"events": EVENT_KINDS, "format": "json", "fileUuid": UUID.format(1)}),
        (("--all", "--file", "aB3dE5fG7hJ9"), {"events": EVENT_KINDS, "format": "json", "fileUuid": "aB3dE5fG7hJ9"}),
        (("--all", "--file", "slug:offer"), {"events": EVENT_KINDS, "format": "json", "fileUuid": UUID.format(1)}),
    ],
)  # fmt: skip
def test_the_request_body_contains_the_options(
    fake_webhooks: FakeWebhooks, shell: Shell, words: tuple[str, ...], sent: dict[str, object]
) -> None:
    fake_webhooks.api.files = [{"uuid": UUID.format(1), "slug": "offer"}]
    assert shell("webhooks", "create", URL, *words).code == 0
    assert get_created_body(fake_webhooks) == {"url": URL, **sent}


def test_a_dry_run_prints_the_body_and_creates_no_file(
    fake_webhooks: FakeWebhooks, shell: Shell, tmp_path: Path
) -> None:
    done = shell(*ALL, "-n", "--secret-file", tmp_path / "s")
    method, path, text = done.lines[0].split("\t")
    assert (method, path, json.loads(text)["events"]) == ("POST", "/api/v1/webhooks", EVENT_KINDS)
    assert fake_webhooks.list_changes() == []
    assert not (tmp_path / "s").exists()


# --- kinds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [(), ("--events", ""), ("--events", " ,"), ("--events", "file.viewd")])
def test_a_missing_or_unknown_kind_lists_the_nine_kinds(
    fake_webhooks: FakeWebhooks, shell: Shell, words: tuple[str, ...]
) -> None:
    done = shell("webhooks", "create", URL, *words, "--json")
    assert (done.code, fake_webhooks.api.requests) == (2, [])
    assert all(kind in done.error["hint"] for kind in EVENT_KINDS)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--events", "file.viewed,webhook.test"), "docshare webhooks test"),
        (("--events", "file.viewed", "--all"), "cannot be used together"),
        (("--all", "--format", "xml"), "json, slack"),
    ],
)
def test_an_invalid_selection_of_kinds_exits_with_2(
    fake_webhooks: FakeWebhooks, shell: Shell, words: tuple[str, ...], told: str
) -> None:
    done = shell("webhooks", "create", URL, *words)
    assert (done.code, fake_webhooks.api.requests) == (2, [])
    assert told in done.err


# --- the address -----------------------------------------------------------------------------------------------------

REJECTED_URLS = [
    "", "hooks.example.com", "ftp://h.example/", "//h.example/", "https:/h.example", "https://", "https:///x",
    "https://me@h.example/", "https://me:pw@h.example/", "https://h.example@evil.example/", "https://h.example\\@x/",
    "https://h.example/a b", "https://h.example/\x1b[2J", "https://h.example/ü", "https://hé.example/", "https://h.example:0/",
    "https://h.example:99999/", "https://h.example:x/", "javascript://h.example/%0a", "https://[::1/", "https://%31/",
    "https://h.example/" + "x" * 2031,
]  # fmt: skip
PRIVATE = [
    "http://h.example/", "https://localhost/", "https://localhost./x", "https://a.localhost:8443/", "https://127.0.0.1/",
    "https://127.1/", "https://2130706433/", "https://0x7f000001/", "https://0177.0.0.1/", "https://10.0.0.8/",
    "https://192.168.1.1:443/", "https://172.16.0.1/", "https://100.64.0.1/", "https://169.254.169.254/latest", "https://0.0.0.0/",
    "https://224.0.0.1/", "https://255.255.255.255/", "https://[::1]/", "https://[::]:443/", "https://[fc00::1]/",
    "https://[fe80::1]/", "https://[::ffff:10.0.0.1]/", "https://[ff02::1]/", "HTTPS://LOCALHOST/",
]  # fmt: skip
ACCEPTED_URLS = [
    "https://h.example", "https://h.example:8443/a?b=c#d", "https://93.184.216.34/", "https://[2606:4700::1111]/",
    "HTTPS://H.example/", "https://h.example/" + "x" * 2030, "https://1and1.example/", "https://a_b.example/",
]  # fmt: skip


@pytest.mark.parametrize("url", REJECTED_URLS)
@pytest.mark.parametrize("far", [True, False])
def test_an_invalid_url_exits_with_2_and_sends_nothing(
    fake_webhooks: FakeWebhooks, shell: Shell, url: str, far: bool
) -> None:
    shell.env["DOCSHARE_URL"] = REMOTE_URL if far else fake_webhooks.api.url
    done = shell("webhooks", "create", url, "--all", "--private", "--json")
    assert (done.code, done.error["code"], fake_webhooks.api.requests) == (2, "usage", [])


@pytest.mark.parametrize("url", ["https://me@h.example/", "https://me:pw@h.example/"])
def test_a_user_name_in_the_url_has_its_own_error_message(shell: Shell, url: str) -> None:
    assert "must not contain a user name" in shell("webhooks", "create", url, "--all").err


@pytest.mark.parametrize("url", PRIVATE)
def test_a_private_address_is_rejected_locally_for_a_remote_server(shell: Shell, url: str) -> None:
    shell.env["DOCSHARE_URL"] = REMOTE_URL
    assert shell("webhooks", "create", url, "--all", "-n").code == 2
    assert shell("webhooks", "create", url, "--all", "-n", "--private").code == 0


@pytest.mark.parametrize("url", PRIVATE)
def test_a_private_address_is_sent_to_a_server_on_this_machine(
    fake_webhooks: FakeWebhooks, shell: Shell, url: str
) -> None:
    assert shell("webhooks", "create", url, "--all").code == 0
    assert fake_webhooks.rows[0]["url"] == url


@pytest.mark.parametrize("url", ACCEPTED_URLS)
def test_an_ordinary_url_is_accepted(shell: Shell, url: str) -> None:
    shell.env["DOCSHARE_URL"] = REMOTE_URL
    assert shell("webhooks", "create", url, "--all", "-n").code == 0


def test_the_error_for_a_private_address_names_the_setting_and_the_option_that_allow_it(shell: Shell) -> None:
    shell.env["DOCSHARE_URL"] = REMOTE_URL
    hint = shell("webhooks", "create", "http://10.0.0.8/", "--all", "--json").error["hint"]
    assert "DOCSHARE_WEBHOOK_ALLOW" in hint
    assert "--private" in hint


def test_a_slack_url_without_a_format_is_rejected_with_a_hint(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    done = shell("webhooks", "create", SLACK, "--all", "--json")
    assert (done.code, fake_webhooks.api.requests) == (2, [])
    assert "--format slack" in done.error["hint"]
    for url, format in ((SLACK, "slack"), (SLACK, "json")):
        assert shell("webhooks", "create", url, "--all", "--format", format).code == 0
    assert shell("webhooks", "create", "https://hooks.slack.com/triggers/x", "--all").code == 0  # it accepts any JSON


# --- the secret ------------------------------------------------------------------------------------------------------


def read_all_files(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_a_pipe_gets_id_and_secret_separated_by_a_tab(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    for words in ((), ("-q",)):
        fake_webhooks.rows.clear()
        done = shell(*ALL, *words)
        assert (done.code, done.out, done.err) == (0, f"{webhook_uuid(1)}\t{SECRET}\n", "")


def test_json_is_the_response_of_the_api(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    done = shell(*ALL, "--json")
    assert done.json["secret"] == SECRET
    assert set(done.json) == {"webhook", "secret"}
    assert done.json["webhook"]["uuid"] == webhook_uuid(1)
    assert shell(*ALL, "--fields", "webhook.uuid").out == f"{webhook_uuid(2)}\n"
    assert shell(*ALL, "--template", "{secret}").out == f"{SECRET}\n"


def test_a_terminal_shows_the_secret_once_with_a_request_to_store_it(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    shell.tty = True
    done = shell(*ALL, "--no-color", "--file", UUID.format(1))
    assert done.out.count(SECRET) == 1
    assert "Store the secret now" in done.out
    assert done.lines[0] == URL
    assert webhook_uuid(1) in done.lines[1]
    assert "all kinds" in done.lines[1]


def test_a_slack_webhook_prints_no_secret(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    shell.tty = True
    done = shell("webhooks", "create", SLACK, "--all", "--format", "slack")
    assert (done.code, SECRET in done.out, "Store it" in done.out) == (0, False, False)


def test_the_secret_is_only_in_the_output(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    done = shell(*ALL, "-vv", "--test")
    shell("webhooks", "list")
    shell("webhooks", "test", webhook_uuid(1), "-vv")
    assert SECRET not in done.err
    assert SECRET.encode() not in read_all_files(shell.home)


def test_a_secret_file_is_private_and_the_only_copy_of_the_secret(
    fake_webhooks: FakeWebhooks, shell: Shell, tmp_path: Path
) -> None:
    os.umask(0o022)
    for tty, words in ((False, ()), (True, ()), (False, ("--json",)), (False, ("-vv",))):
        shell.tty = tty
        path = tmp_path / f"secret-{len(fake_webhooks.rows)}"
        done = shell(*ALL, "--secret-file", path, *words)
        assert (done.code, path.read_text()) == (0, f"{SECRET}\n")
        assert path.stat().st_mode & 0o777 == 0o600
        assert SECRET not in done.out + done.err
        path.unlink()
        assert SECRET.encode() not in read_all_files(tmp_path)
    assert shell(*ALL, "--secret-file", path).out == f"{webhook_uuid(5)}\n"
    shown = shell(*ALL, "--secret-file", tmp_path / "b", "--json").json
    assert shown["secretFile"] == str(tmp_path / "b")
    assert set(shown) == {"webhook", "secretFile"}


@pytest.mark.parametrize("kind", ["file", "link", "directory", "missing folder"])
def test_a_secret_file_that_cannot_be_created_prevents_the_webhook(
    fake_webhooks: FakeWebhooks, shell: Shell, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / ("none/secret" if kind == "missing folder" else "secret")
    if kind == "file":
        path.write_text("whsec_of_another")
    elif kind == "link":
        path.symlink_to(tmp_path / "elsewhere")
    elif kind == "directory":
        path.mkdir()
    assert shell(*ALL, "--secret-file", path).code == 2
    assert fake_webhooks.list_changes() == []
    assert not (tmp_path / "elsewhere").exists()
    assert kind != "file" or path.read_text() == "whsec_of_another"


def test_an_error_response_leaves_no_secret_file(fake_webhooks: FakeWebhooks, shell: Shell, tmp_path: Path) -> None:
    fake_webhooks.api.on("POST", "/webhooks", problem(400, "bad_request", "The account has 25 webhooks."))
    done = shell(*ALL, "--secret-file", tmp_path / "secret")
    assert (done.code, done.out) == (9, "")
    assert "25 webhooks" in done.err
    assert not (tmp_path / "secret").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_secret_that_cannot_be_stored_deletes_the_webhook(
    fake_webhooks: FakeWebhooks, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk fills up after the request: without the secret, no one could verify the signatures."""

    def open_on_full_disk(path: Path, flags: int, mode: int = 0o777) -> int:
        descriptor = open_(path, flags, mode)
        if str(path).endswith("secret"):
            os.dup2(open_("/dev/full", os.O_WRONLY), descriptor)
        return descriptor

    open_ = os.open
    monkeypatch.setattr("docshare.cli.local.secret_file.os.open", open_on_full_disk)
    done = shell(*ALL, "--secret-file", tmp_path / "secret")
    assert (done.code, fake_webhooks.rows) == (2, [])
    assert SECRET not in done.out + done.err
    assert not (tmp_path / "secret").exists()


def test_a_lost_response_exits_with_14_and_a_hint(fake_webhooks: FakeWebhooks, shell: Shell, tmp_path: Path) -> None:
    create = fake_webhooks.api.take_response("POST", "/webhooks")
    fake_webhooks.api.on("POST", "/webhooks", lambda heard: create(heard) and FakeResponse(connection_action="drop"))
    done = shell(*ALL, "--json", "--secret-file", tmp_path / "secret")
    assert (done.code, done.out, len(fake_webhooks.rows)) == (14, "", 1)
    assert f"docshare webhooks delete {webhook_uuid(1)}" in done.error["hint"]
    assert not (tmp_path / "secret").exists()


def test_a_slack_webhook_whose_response_is_lost_is_a_success(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    """Its messages are not signed."""
    create = fake_webhooks.api.take_response("POST", "/webhooks")
    fake_webhooks.api.on("POST", "/webhooks", lambda heard: create(heard) and FakeResponse(connection_action="drop"))
    done = shell("webhooks", "create", SLACK, "--all", "--format", "slack")
    assert (done.code, done.out) == (0, f"{webhook_uuid(1)}\n")


# --- the test event --------------------------------------------------------------------------------------------------


def test_the_result_of_the_test_event_is_printed_on_stderr(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    done = shell(*ALL, "--test", "--json")
    assert (done.code, done.err) == (0, "test: delivered 200 in 143 ms\n")
    assert done.json["secret"] == SECRET
    assert fake_webhooks.list_changes() == ["POST /webhooks", f"POST /webhooks/{webhook_uuid(1)}/test"]


def test_a_failed_test_event_exits_with_13_and_the_webhook_stays(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    fake_webhooks.results = [{"delivered": False, "status": 500, "latencyMs": 9}]
    done = shell(*ALL, "--test")
    assert (done.code, done.out) == (13, f"{webhook_uuid(1)}\t{SECRET}\n")
    assert "not delivered: 500 in 9 ms" in done.err
    assert len(fake_webhooks.rows) == 1


def test_the_secret_is_masked_in_an_error_response(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    fake_webhooks.results = [problem(500, "internal", f"cannot sign with {SECRET}")]
    assert SECRET not in shell(*ALL, "--test", "--retries", "0").err


def test_a_failed_test_request_does_not_suppress_the_secret(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    fake_webhooks.results = [problem(500, "internal")]
    done = shell(*ALL, "--test")
    assert (done.code, done.out) == (11, f"{webhook_uuid(1)}\t{SECRET}\n")


# --- a real terminal -------------------------------------------------------------------------------------------------


def test_a_real_terminal_shows_the_secret_to_store(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    env = {"PATH": os.environ["PATH"], **shell.env, "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)}
    ended = run_on_terminal([sys.executable, "-m", "docshare", *ALL], env)
    assert ended.code == 0
    assert f"\x1b[36m{SECRET}\x1b[0m" in ended.text
    assert "Store the secret now" in ended.text
