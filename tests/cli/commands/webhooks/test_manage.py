"""``docshare webhooks``: notations, list, show, delete, enable."""

from __future__ import annotations

import pytest

from docshare.cli.local.completion_words import read_completions
from docshare.cli.reference.tree import ValueCompletion, load_tree
from tests.cli.commands.fakes.webhooks import (
    EVENT_KINDS,
    HOUR,
    URL,
    FakeWebhooks,
    format_moment,
    make_attempt,
    webhook_uuid,
)
from tests.support.outside.fake_api import UUID, FakeApi, problem
from tests.support.shell import Shell

SLACK = "https://hooks.slack.com/services/T0/B0/topsecret"


@pytest.fixture
def fake_webhooks(api: FakeApi) -> FakeWebhooks:
    """Create a disabled webhook for all kinds, and a healthy Slack webhook for one file."""
    board = FakeWebhooks(api)
    health = {
        "failureCount": 20,
        "lastDeliveryAt": format_moment(-HOUR),
        "lastStatus": 500,
        "disabledAt": format_moment(-HOUR),
    }
    board.add_webhook(URL, active=False, events=EVENT_KINDS, **health)
    board.add_webhook(SLACK, format="slack", fileUuid=UUID.format(1), lastDeliveryAt=format_moment(-60), lastStatus=200)
    api.files = [{"uuid": UUID.format(1), "originalName": "deck.pdf"}]
    return board


# --- notations -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "word", [webhook_uuid(1), webhook_uuid(1).upper(), webhook_uuid(1)[:8], webhook_uuid(1)[:20], URL]
)
def test_every_notation_finds_the_webhook(fake_webhooks: FakeWebhooks, shell: Shell, word: str) -> None:
    assert shell("webhooks", "show", word, "--json").json["uuid"] == webhook_uuid(1)


@pytest.mark.parametrize("word", ["hook", "", webhook_uuid(1)[:7], f"{webhook_uuid(1)}0", "@last", "hooks.example.com"])
def test_an_argument_that_is_not_a_webhook_exits_with_2(fake_webhooks: FakeWebhooks, shell: Shell, word: str) -> None:
    done = shell("webhooks", "delete", word, "--yes", "--json")
    assert (done.code, fake_webhooks.list_changes()) == (2, [])
    assert "first 8 characters" in done.error["hint"]


@pytest.mark.parametrize("word", [webhook_uuid(9), webhook_uuid(9)[:8], f"{URL}/"])
def test_an_unknown_webhook_exits_with_3(fake_webhooks: FakeWebhooks, shell: Shell, word: str) -> None:
    assert shell("webhooks", "show", word).code == 3


def test_an_ambiguous_argument_exits_with_2_and_names_both_webhooks(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    fake_webhooks.add_webhook(URL)
    done = shell("webhooks", "delete", URL, "--yes")
    assert (done.code, fake_webhooks.list_changes()) == (2, [])
    assert webhook_uuid(1) in done.err
    assert webhook_uuid(3) in done.err


def test_several_webhooks_are_read_from_arguments_or_stdin_each_once(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    rows = f"{webhook_uuid(1)}\tx\n\n{webhook_uuid(2)}\n".encode()
    done = shell("webhooks", "delete", "-", URL, "--yes", stdin=rows)
    assert done.lines == [f"{webhook_uuid(1)}\ttrue", f"{webhook_uuid(2)}\ttrue"]
    assert fake_webhooks.list_changes() == [
        f"DELETE /webhooks/{webhook_uuid(1)}",
        f"DELETE /webhooks/{webhook_uuid(2)}",
    ]
    assert len(fake_webhooks.api.list_requests("GET", "/webhooks")) == 1
    assert shell("webhooks", "delete", "-", "--yes").code == 2


# --- list and show ---------------------------------------------------------------------------------------------------


def test_a_pipe_gets_tab_separated_values_and_json_is_the_response(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    kinds = ",".join(f'"{kind}"' for kind in EVENT_KINDS)
    assert shell("webhooks", "list").lines == [
        f'{webhook_uuid(2)}\t{SLACK}\tslack\ttrue\t["file.viewed"]\t{UUID.format(1)}\t{format_moment(0)}\t0\t200',
        f"{webhook_uuid(1)}\t{URL}\tjson\tfalse\t[{kinds}]\t\t{format_moment(0)}\t20\t500",
    ]
    assert shell("webhooks", "list", "--json").json == fake_webhooks.rows
    assert shell("webhooks", "list", "--format", "ids").lines == [webhook_uuid(2), webhook_uuid(1)]
    assert fake_webhooks.api.list_requests("GET", "/files") == []


def test_a_list_that_is_a_bare_array_is_accepted(fake_webhooks: FakeWebhooks, shell: Shell, api: FakeApi) -> None:
    api.on("GET", "/webhooks", fake_webhooks.rows)
    assert shell("webhooks", "list", "--format", "ids").lines == [webhook_uuid(2), webhook_uuid(1)]


def test_a_table_shows_health_and_scope(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    shell.tty = True
    shell.env |= {"NO_COLOR": "1", "COLUMNS": "200"}
    header, slack, disabled = shell("webhooks", "list").lines
    assert header.split() == ["URL", "EVENTS", "FORMAT", "FILE", "LAST", "SENT", "PROBLEM", "WEBHOOK"]
    assert slack.split() == [
        SLACK, "file.viewed", "slack", "deck.pdf", "200", "1", "min", "ago", webhook_uuid(2)[:8],
    ]  # fmt: skip
    assert disabled.endswith(f"disabled after 20 abandoned deliveries  {webhook_uuid(1)[:8]}")
    assert "all kinds" in disabled
    fake_webhooks.rows.clear()
    done = shell("webhooks", "list")
    assert (done.out, "docshare webhooks create" in done.err) == ("", True)


def test_a_disabled_webhook_is_red(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    shell.tty = True
    shell.env["COLUMNS"] = "200"
    assert "\x1b[1;31mdisabled after 20 abandoned deliveries" in shell("webhooks", "list").out


def test_a_webhook_with_abandoned_deliveries_shows_their_number(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    fake_webhooks.rows[0]["failureCount"] = 7
    shell.tty = True
    shell.env["COLUMNS"] = "200"
    assert "7 of 20 abandoned" in shell("webhooks", "list").out


def test_a_credential_without_files_read_shows_the_uuid_of_the_file(
    fake_webhooks: FakeWebhooks, shell: Shell, api: FakeApi
) -> None:
    api.on("GET", "/files", problem(403, "insufficient_scope"))
    shell.tty = True
    shell.env["COLUMNS"] = "250"
    assert UUID.format(1) in shell("webhooks", "list").out


def test_a_terminal_shows_one_webhook_with_its_last_deliveries(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    for number in range(2, 9):
        fake_webhooks.add_delivery(webhook_uuid(2), number, "delivered", make_attempt(number, 200))
    shell.tty = True
    shell.env["NO_COLOR"] = "1"
    lines = shell("webhooks", "show", SLACK).lines
    shown = dict(line.split(maxsplit=1) for line in lines[: lines.index("")])
    assert (shown["url"], shown["webhook"], shown["file"]) == (SLACK, webhook_uuid(2), "deck.pdf")
    assert [line.split()[-1] for line in lines[lines.index("") + 2 :]] == ["8", "7", "6", "5", "4"]


def test_a_pipe_gets_one_webhook_unchanged_without_further_requests(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    assert shell("webhooks", "show", webhook_uuid(1), "--json").json == fake_webhooks.rows[1]
    assert f"uuid\t{webhook_uuid(1)}" in shell("webhooks", "show", webhook_uuid(1)).lines
    assert {heard.path for heard in fake_webhooks.api.requests} == {"/webhooks"}


def test_a_server_without_a_delivery_log_still_shows_the_webhook(
    fake_webhooks: FakeWebhooks, shell: Shell, api: FakeApi
) -> None:
    api.on("GET", f"/webhooks/{webhook_uuid(1)}/deliveries", problem(404, "not_found"))
    shell.tty = True
    assert shell("webhooks", "show", URL).code == 0
    api.on("GET", f"/webhooks/{webhook_uuid(1)}/deliveries", problem(403, "insufficient_scope"))
    assert shell("webhooks", "show", URL).code == 5


def test_text_of_the_server_cannot_control_the_terminal(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    fake_webhooks.rows[0] |= {
        "url": "https://x.example/\x1b]0;pwned\x07[/]",
        "events": ["a\x1b[2J", 7],
        "format": "\u202e",
    }
    fake_webhooks.add_delivery(
        webhook_uuid(2), 2, "\x1b[2J", {"at": "\x07", "status": "\x1b", "latencyMs": {}, "error": "\x1b[2J"}
    )
    for tty in (True, False):
        shell.tty = tty
        shell.env["NO_COLOR"] = "1"
        for line in (
            ("list",),
            ("show", webhook_uuid(2)),
            ("deliveries", webhook_uuid(2)),
            ("deliveries", webhook_uuid(2), "--attempts"),
        ):
            done = shell("webhooks", *line)
            assert done.code == 0, done.err
            assert not {"\x1b", "\x07", "\u202e"} & set(done.out)


# --- delete and enable -----------------------------------------------------------------------------------------------


def test_delete_prompts_and_defaults_to_no(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    shell.tty = True
    done = shell("webhooks", "delete", URL, stdin=b"\n")
    assert (done.code, fake_webhooks.list_changes()) == (2, [])
    assert f"Delete the webhook to {URL}? [y/N]" in done.err
    assert shell("webhooks", "delete", URL, webhook_uuid(2), stdin=b"y\n").code == 0
    assert fake_webhooks.rows == []


def test_delete_in_a_script_requires_yes(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    done = shell("webhooks", "delete", URL, "--json")
    assert (done.code, done.error["code"], fake_webhooks.list_changes()) == (2, "confirmation", [])
    assert shell("webhooks", "delete", URL, "--yes", "--json").json == {
        "uuid": webhook_uuid(1),
        "url": URL,
        "deleted": True,
    }


def test_a_failed_deletion_among_several_exits_with_12(fake_webhooks: FakeWebhooks, shell: Shell, api: FakeApi) -> None:
    api.on("DELETE", f"/webhooks/{webhook_uuid(1)}", problem(404, "not_found", "It is gone."))
    done = shell("webhooks", "delete", webhook_uuid(1), webhook_uuid(2), "--yes")
    assert (done.code, done.lines) == (12, [f"{webhook_uuid(2)}\ttrue"])
    assert "It is gone." in done.err


def test_enable_enables_a_disabled_webhook(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    shell.tty = True
    done = shell("webhooks", "enable", URL, "--no-color")
    assert (done.code, done.lines) == (0, [f"enabled {webhook_uuid(1)[:8]}: {URL}"])
    assert (fake_webhooks.rows[1]["active"], fake_webhooks.rows[1]["failureCount"]) == (True, 0)


@pytest.mark.parametrize(
    ("line", "request_"),
    [
        (("delete", URL), f"DELETE\t/api/v1/webhooks/{webhook_uuid(1)}"),
        (("enable", URL), f"POST\t/api/v1/webhooks/{webhook_uuid(1)}/enable"),
    ],
)
def test_a_dry_run_prints_the_request_that_would_be_sent(
    fake_webhooks: FakeWebhooks, shell: Shell, line: tuple[str, ...], request_: str
) -> None:
    done = shell("webhooks", *line, "-n")
    assert (done.code, done.out, fake_webhooks.list_changes()) == (0, f"{request_}\t\n", [])


# --- completion ------------------------------------------------------------------------------------------------------


def test_list_caches_ids_and_hosts_for_completion_but_no_secret(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    fake_webhooks.add_webhook("https://h.example:8443?key=topsecret")
    shell("webhooks", "list")
    assert read_completions("webhooks", shell.env) == [
        f"{webhook_uuid(3)}\th.example",
        f"{webhook_uuid(2)}\thooks.slack.com",
        f"{webhook_uuid(1)}\thooks.example.com",
    ]


def test_webhooks_kinds_and_states_are_completed() -> None:
    commands = {command.path[1:]: command for command in load_tree().walk() if command.path[:1] == ("webhooks",)}
    for name in ("show", "delete", "enable", "test", "deliveries", "redeliver"):
        assert commands[name,].arguments[0].value.kind == "webhooks"
    options = {option.names[0]: option for name in ("create", "deliveries") for option in commands[name,].options}
    assert options["--events"].value == ValueCompletion(words=tuple(EVENT_KINDS))
    assert options["--state"].value == ValueCompletion(words=("queued", "delivered", "abandoned"))
    assert options["--secret-file"].value == ValueCompletion(path=True)


# --- the command group -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["kinds", "sample", "sign", "verify", "listen", "replay"])
def test_the_summary_of_a_lazily_loaded_command_matches_its_help(shell: Shell, name: str) -> None:
    shown = " ".join(shell("webhooks", "-h").out.split())
    summary = shell("webhooks", name, "-h").out.split("\n\n")[1]
    assert f" {name} {' '.join(summary.split())}" in shown


def test_a_misspelled_command_of_the_group_suggests_the_right_one(shell: Shell) -> None:
    for word, meant in (("lsit", "list or listen"), ("verfy", "verify")):
        done = shell("webhooks", word)
        assert (done.code, f"Did you mean {meant}?" in done.err) == (2, True)
