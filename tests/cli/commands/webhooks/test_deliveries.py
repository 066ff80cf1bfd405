"""``docshare webhooks deliveries`` and ``redeliver``: the delivery log, and sending deliveries again."""

from __future__ import annotations

import pytest

from tests.cli.commands.fakes.webhooks import HOUR, URL, FakeWebhooks, format_moment, make_attempt, webhook_uuid
from tests.support.outside.fake_api import FakeApi, FakeTime, problem
from tests.support.shell import Shell

ONE = webhook_uuid(1)
LOG = f"/api/v1/webhooks/{ONE}/deliveries"


@pytest.fixture
def fake_webhooks(api: FakeApi) -> FakeWebhooks:
    """Create a webhook with a delivery of each state: 2 delivered at the second attempt, 3 abandoned, 4 waiting, 5 not
    yet sent."""
    webhooks_api = FakeWebhooks(api)
    webhooks_api.add_webhook()
    webhooks_api.add_delivery(ONE, 2, "delivered", make_attempt(2, 500), make_attempt(62, 204))
    times = (3, 63, 663, HOUR + 663, 2 * HOUR + 663)
    webhooks_api.add_delivery(
        ONE, 3, "abandoned", *(make_attempt(when, 0, error="Connection refused.") for when in times)
    )
    webhooks_api.add_delivery(ONE, 4, "queued", make_attempt(4, 302), nextAttemptAt=format_moment(540))
    webhooks_api.add_delivery(ONE, 5, "queued", nextAttemptAt=format_moment(5))
    return webhooks_api


def add_deliveries(webhooks_api: FakeWebhooks, count: int) -> None:
    """Add ``count`` deliveries, every tenth of them abandoned."""
    for number in range(10, 10 + count):
        webhooks_api.add_delivery(ONE, number, "delivered" if number % 10 else "abandoned", make_attempt(number, 200))


# --- the log ---------------------------------------------------------------------------------------------------------


def test_a_terminal_shows_the_attempts_and_the_time_of_the_next(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    shell.tty = True
    shell.env["NO_COLOR"] = "1"
    header, *rows = shell("webhooks", "deliveries", URL).lines
    assert header.split("  ")[0] == "EVENT AT"
    cells = [[cell.strip() for cell in row.split("  ") if cell] for row in rows]
    assert [row[1:] for row in cells] == [
        ["file.viewed", "queued", "·····", "in moments", "5"],
        ["file.viewed", "queued", "✗····", "302 in 143 ms", "in 9 min", "4"],
        ["file.viewed", "abandoned", "✗✗✗✗✗", "Connection refused.", "3"],
        ["file.viewed", "delivered", "✗✓", "204 in 143 ms", "2"],
    ]


def test_a_redelivered_delivery_shows_all_its_attempts(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    fake_webhooks.add_delivery(
        ONE, 6, "queued", *(make_attempt(6, 500) for _ in range(6)), nextAttemptAt=format_moment(60)
    )
    shell.tty = True
    assert "✗✗✗✗✗✗· " in shell("webhooks", "deliveries", URL).out


def test_attempts_are_ascii_if_the_encoding_has_no_check_marks(
    fake_webhooks: FakeWebhooks, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.support import shell as support

    monkeypatch.setattr(support._RecordingStream, "encoding", "ascii", raising=False)
    shell.tty = True
    assert [word for word in shell("webhooks", "deliveries", URL).out.split() if set(word) <= set("x+.")] == [
        ".....", "x....", "xxxxx", "x+",
    ]  # fmt: skip


def test_a_pipe_gets_tab_separated_values_and_json_is_the_response(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    line = shell("webhooks", "deliveries", ONE, "-n", "1").out
    assert line == f"5\tfile.viewed\t{format_moment(5)}\tqueued\t{format_moment(5)}\t[]\n"
    assert shell("webhooks", "deliveries", ONE, "--json").json == fake_webhooks.log[ONE][::-1]
    assert fake_webhooks.api.list_requests("GET", "/webhooks") == []  # a full UUID needs no list


def test_the_attempts_option_prints_one_row_per_attempt(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    lines = shell("webhooks", "deliveries", ONE, "--attempts").lines
    assert lines[0] == f"4\tfile.viewed\t1\t{format_moment(4)}\t302\t143\t"
    assert lines[5] == f"3\tfile.viewed\t5\t{format_moment(2 * HOUR + 663)}\t0\t143\tConnection refused."
    assert len(lines) == 8
    row = shell("webhooks", "deliveries", ONE, "--attempts", "--json").json[-1]
    assert row == {"id": 2, "event": "file.viewed", "attempt": 2, **make_attempt(62, 204)}


@pytest.mark.parametrize(("state", "ids"), [("queued", ["5", "4"]), ("abandoned", ["3"]), ("delivered", ["2"])])
def test_state_filters_the_deliveries(fake_webhooks: FakeWebhooks, shell: Shell, state: str, ids: list[str]) -> None:
    assert shell("webhooks", "deliveries", ONE, "--state", state, "--format", "ids").lines == ids


def test_an_unknown_state_exits_with_2(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    assert shell("webhooks", "deliveries", ONE, "--state", "failed").code == 2
    assert fake_webhooks.api.requests == []


@pytest.mark.parametrize(
    ("count", "words", "shown", "more"),
    [
        (96, (), 20, True),
        (96, ("-n", "100"), 100, False),
        (97, ("-n", "100"), 100, True),
        (197, ("-n", "100"), 100, True),
        (246, ("-n", "250"), 250, False),
        (246, ("--all",), 250, False),
        (246, ("--state", "abandoned"), 20, True),
        (246, ("--state", "abandoned", "-n", "26"), 26, False),
        (246, ("--state", "queued"), 2, False),
    ],
)
def test_the_requested_number_is_printed_and_a_note_mentions_more(
    fake_webhooks: FakeWebhooks, shell: Shell, count: int, words: tuple[str, ...], shown: int, more: bool
) -> None:
    add_deliveries(fake_webhooks, count)
    done = shell("webhooks", "deliveries", ONE, *words, "--format", "ids")
    newest = sorted((int(line) for line in done.lines), reverse=True)
    assert (len(done.lines), "more" in done.err) == (shown, more)
    assert done.lines == [str(number) for number in newest]
    assert more or "--state" in words or len(newest) == count + 4


def test_an_empty_log_is_a_success(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    fake_webhooks.log[ONE].clear()
    assert shell("webhooks", "deliveries", ONE).code == 0
    shell.tty = True
    assert "no deliveries" in shell("webhooks", "deliveries", ONE).err


# --- redelivery ------------------------------------------------------------------------------------------------------


def test_redeliver_sends_deliveries_by_number(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    done = shell("webhooks", "redeliver", URL, "3", "2", "3")
    assert done.lines == [f"3\tfile.viewed\tqueued\t{format_moment(3)}", f"2\tfile.viewed\tqueued\t{format_moment(2)}"]
    assert fake_webhooks.list_changes() == [f"POST /webhooks/{ONE}/deliveries/{number}/redeliver" for number in (3, 2)]
    shell.tty = True
    assert shell("webhooks", "redeliver", URL, "3", "--no-color").out == "queued 3: file.viewed\n"


def test_redeliver_reads_numbers_from_stdin_as_the_log_prints_them(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    log = shell("webhooks", "deliveries", ONE, "--state", "abandoned").out
    done = shell("webhooks", "redeliver", ONE, "-", stdin=log.encode())
    assert (done.code, fake_webhooks.list_changes()) == (0, [f"POST /webhooks/{ONE}/deliveries/3/redeliver"])


def test_a_queued_delivery_exits_with_7_and_among_several_with_12(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    assert shell("webhooks", "redeliver", ONE, "4").code == 7
    done = shell("webhooks", "redeliver", ONE, "4", "3")
    assert (done.code, len(done.lines)) == (12, 1)
    assert "error: 4: It is still queued." in done.err
    rows = shell("webhooks", "redeliver", ONE, "4", "3", "--json").json
    assert [(row["delivery"], row.get("error", {}).get("exit")) for row in rows] == [("4", 7), ("3", None)]


def test_an_unknown_number_exits_with_3(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    assert shell("webhooks", "redeliver", ONE, "99").code == 3


@pytest.mark.parametrize(
    "words", [(), ("3", "--failed"), ("x",), ("-3",), ("3.0",), ("3", "--since", "2h"), ("--failed", "--since", "soon")]
)
def test_an_invalid_command_line_exits_with_2(
    fake_webhooks: FakeWebhooks, shell: Shell, words: tuple[str, ...]
) -> None:
    assert shell("webhooks", "redeliver", ONE, *words).code == 2
    assert fake_webhooks.list_changes() == []


@pytest.fixture
def outage(fake_webhooks: FakeWebhooks, time: FakeTime) -> FakeWebhooks:
    """Create three abandoned deliveries, two of them from the last hour, and 250 others; it is six hours later."""
    add_deliveries(fake_webhooks, 246)
    for row in fake_webhooks.log[ONE]:
        row["state"] = "delivered"
    for number, last in ((100, HOUR), (101, 5.5 * HOUR), (102, 5.9 * HOUR)):
        fake_webhooks.log[ONE] = [row for row in fake_webhooks.log[ONE] if row["id"] != number]
        fake_webhooks.add_delivery(ONE, number, "abandoned", make_attempt(number, 500), make_attempt(last, 500))
    time.wall += 6 * HOUR
    return fake_webhooks


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        ((), [100, 101, 102]),
        (("--since", "1h"), [101, 102]),
        (("--since", "100"), [101, 102]),
        (("--since", "5m"), []),
    ],
)
def test_failed_sends_all_abandoned_deliveries_in_event_order(
    outage: FakeWebhooks, shell: Shell, words: tuple[str, ...], numbers: list[int]
) -> None:
    """``--since`` compares the time when a delivery was abandoned, which is hours after its event."""
    done = shell("webhooks", "redeliver", ONE, "--failed", *words)
    assert done.code == 0
    assert outage.list_changes() == [f"POST /webhooks/{ONE}/deliveries/{number}/redeliver" for number in numbers]


def test_no_abandoned_deliveries_is_a_success(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    fake_webhooks.log[ONE].clear()
    assert shell("webhooks", "redeliver", ONE, "--failed", "--json").json == []
    shell.tty = True
    done = shell("webhooks", "redeliver", ONE, "--failed", "--no-color")
    assert (done.code, done.out, done.err) == (0, "", "no deliveries to send again\n")


def test_a_dry_run_prints_the_requests_that_would_be_sent(outage: FakeWebhooks, shell: Shell) -> None:
    done = shell("webhooks", "redeliver", ONE, "--failed", "-n")
    assert done.lines == [f"POST\t{LOG}/{number}/redeliver\t" for number in (100, 101, 102)]
    assert outage.list_changes() == []


def test_an_error_that_affects_every_delivery_stops_the_run(outage: FakeWebhooks, shell: Shell, api: FakeApi) -> None:
    api.on("POST", f"/webhooks/{ONE}/deliveries/101/redeliver", problem(401, "unauthorized"))
    done = shell("webhooks", "redeliver", ONE, "--failed", "--json")
    assert (done.code, len(outage.list_changes())) == (4, 2)
    assert [row["delivery"] for row in done.json] == ["100"]
