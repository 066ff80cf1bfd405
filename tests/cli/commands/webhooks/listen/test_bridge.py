"""``docshare webhooks listen --bridge``: the feed of a remote server as signed deliveries, none lost."""

from __future__ import annotations

import json
import random
import re
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from docshare.contract.signing import verify
from tests.support.outside.fake_api import UUID, FakeApi, FakeTime, problem, row
from tests.support.outside.import_source import http_response
from tests.support.outside.receivers import FAILING_SCRIPTS, FakeReceiver, ReceivedRequest, open_receiver
from tests.support.outside.webhook_listener import run_listener
from tests.support.polling import wait_until
from tests.support.servers.server_process import make_env
from tests.support.shell import CommandResult, Shell

SECRET = "whsec_" + "5e" * 32
OK = http_response(b"")
SERVER_ERROR = FAILING_SCRIPTS["5xx"]


@pytest.fixture
def local_receiver() -> Iterator[FakeReceiver]:
    with open_receiver() as receiver:
        yield receiver


@pytest.fixture
def bridge(shell: Shell, local_receiver: FakeReceiver, tmp_path: Path) -> Callable[..., CommandResult]:
    """Return a function that bridges from the start of the feed to the local receiver, by default for a minute."""
    kept = tmp_path / "secret.txt"
    kept.write_text(SECRET + "\n")

    def run(*options: str, begin: tuple[str, ...] = ("--from", "start")) -> CommandResult:
        fixed = (
            "--bridge",
            "--forward-to",
            local_receiver.url,
            "--secret-file",
            str(kept),
            "--timeout",
            "1m",
            "--json",
        )
        return shell("webhooks", "listen", *fixed, *begin, *options)

    return run


def list_event_names(program: FakeReceiver) -> list[str]:
    """Return the names in the events that a program received, in order."""
    return [json.loads(hit.body)["data"]["name"] for hit in program.requests]


def append_events(api: FakeApi, *numbers: int, event: str = "receipt.confirmed") -> None:
    """Append events to the activity feed, each with its number as its name."""
    api.rows["activity"] += [row("activity", number, event=event, data={"name": str(number)}) for number in numbers]


# --- forwarded events ------------------------------------------------------------------------------------------------


def test_a_row_is_forwarded_like_a_webhook_delivery(
    api: FakeApi, local_receiver: FakeReceiver, time: FakeTime, bridge: Callable[..., CommandResult]
) -> None:
    api.rows["activity"] = [row("activity", 7, at=3, data={"name": "Zoë"})]
    (shown,) = bridge().rows
    (hit,) = local_receiver.requests
    assert hit.body.decode() == (
        '{"event":"receipt.confirmed","timestamp":"2026-09-21T14:13:23.000Z",'
        f'"data":{{"fileUuid":"{UUID.format(1)}","fileName":"deck.pdf","name":"Zoë"}}}}'
    )
    assert verify(SECRET, hit.body, hit.headers["x-service-signature"], int(time.wall * 1000))
    facts = {name: hit.headers[name] for name in ("content-type", "user-agent", "webhook-event", "webhook-attempt")}
    assert facts == {
        "content-type": "application/json",
        "user-agent": "Service-Webhooks/1.0",
        "webhook-event": "receipt.confirmed",
        "webhook-attempt": "1",
    }
    assert hit.headers["x-docshare-bridge"] == "1"
    assert (shown["id"], shown["verified"], shown["kind"]) == (hit.delivery, True, "receipt.confirmed")
    assert "answer" not in shown, "no server waits for one"


def test_the_banner_names_the_bridge_header(api: FakeApi, bridge: Callable[..., CommandResult]) -> None:
    done = bridge()
    assert f"bridging the feed of {api.url}; deliveries have the header X-Docshare-Bridge: 1" in done.err


def test_rejected_access_attempts_are_not_forwarded(
    api: FakeApi, local_receiver: FakeReceiver, bridge: Callable[..., CommandResult]
) -> None:
    append_events(api, 2, event="access.denied")
    append_events(api, 3)
    bridge()
    assert list_event_names(local_receiver) == ["3"]


def test_only_selected_kinds_of_the_selected_file_are_forwarded(
    api: FakeApi, local_receiver: FakeReceiver, bridge: Callable[..., CommandResult]
) -> None:
    api.on("GET", f"/files/{UUID.format(2)}", {"uuid": UUID.format(2)})
    append_events(api, 2, event="note.created")
    append_events(api, 3, event="file.burned")
    other = {"name": "4", "fileUuid": UUID.format(2)}
    api.rows["activity"].append(row("activity", 4, event="note.created", data=other))
    bridge("--events", "note.created", "--file", UUID.format(2))
    assert list_event_names(local_receiver) == ["4"]


def test_a_secret_is_created_and_printed_once_if_none_is_given(
    api: FakeApi, shell: Shell, local_receiver: FakeReceiver
) -> None:
    append_events(api, 2)
    options = ("--bridge", "--from", "start", "--forward-to", local_receiver.url, "--exit-after", "1")
    done = shell("webhooks", "listen", *options)
    (secret,) = re.findall("whsec_[0-9a-f]{64}", done.err + done.out)
    hit = local_receiver.requests[0]
    assert verify(secret, hit.body, hit.headers["x-service-signature"], int(shell.time.wall * 1000))


def test_print_secret_prints_only_the_secret_on_stdout(
    api: FakeApi, shell: Shell, local_receiver: FakeReceiver
) -> None:
    append_events(api, 2)
    done = shell("webhooks", "listen", "--bridge", "--from", "start", "--print-secret", "--exit-after", "1")
    assert re.fullmatch("whsec_[0-9a-f]{64}\n", done.out)
    assert "receipt.confirmed" in done.err


def test_events_are_only_printed_if_there_is_no_program(api: FakeApi, shell: Shell) -> None:
    append_events(api, 2, 3)
    done = shell("webhooks", "listen", "--bridge", "--from", "start", "--exit-after", "2", "--json")
    assert (done.code, [each["forwards"] for each in done.rows]) == (0, [[], []])


# --- a server without the activity feed ------------------------------------------------------------------------------


@pytest.fixture
def old_server_api(api: FakeApi) -> FakeApi:
    api.on("GET", "/activity", problem(404, "not_found"))
    api.rows["view"] = [row("view", 2, at=10)]
    api.rows["download"] = [row("download", 2, at=20)]
    api.rows["gate"] = [row("gate", 2, at=30), row("gate", 3, at=40)]
    del api.rows["gate"][1]["fields"]
    return api


def test_a_server_without_the_activity_feed_is_bridged_with_three_kinds(
    old_server_api: FakeApi, local_receiver: FakeReceiver, bridge: Callable[..., CommandResult]
) -> None:
    done = bridge()
    file = {"fileUuid": UUID.format(1), "fileName": "deck.pdf"}
    gate = {"source": "form", "email": "ann@example.com", "fields": {"email": "ann@example.com"}}
    assert [json.loads(hit.body) for hit in local_receiver.requests] == [
        {"event": "file.viewed", "timestamp": "2026-09-21T14:13:30.000Z",
         "data": {**file, "pagesViewed": 3, "timeMs": 102_000}},
        {"event": "file.downloaded", "timestamp": "2026-09-21T14:13:40.000Z", "data": file},
        {"event": "gate.completed", "timestamp": "2026-09-21T14:13:50.000Z", "data": {**file, **gate}},
        {"event": "gate.completed", "timestamp": "2026-09-21T14:14:00.000Z", "data": {**file, "source": "email"}},
    ]  # fmt: skip
    assert "only file.viewed, file.downloaded and gate.completed are available, without sessionId" in done.err


def test_without_pro_the_gate_stream_is_skipped_with_a_note(
    old_server_api: FakeApi, local_receiver: FakeReceiver, bridge: Callable[..., CommandResult]
) -> None:
    old_server_api.is_gate_allowed = False
    done = bridge()
    assert [hit.headers["webhook-event"] for hit in local_receiver.requests] == ["file.viewed", "file.downloaded"]
    assert "skipping the gate stream" in done.err


def test_kinds_that_the_polling_feed_does_not_contain_exit_with_3(
    old_server_api: FakeApi, bridge: Callable[..., CommandResult]
) -> None:
    done = bridge("--events", "note.created,file.burned")
    assert (done.code, done.out) == (3, "")


# --- resuming --------------------------------------------------------------------------------------------------------


def test_the_first_run_starts_now_and_the_next_one_resumes(
    api: FakeApi, local_receiver: FakeReceiver, bridge: Callable[..., CommandResult]
) -> None:
    append_events(api, 2, 3)
    bridge(begin=())
    append_events(api, 4, 5)
    bridge(begin=())
    assert list_event_names(local_receiver) == ["4", "5"]
    bridge(begin=())
    assert list_event_names(local_receiver) == ["4", "5"]


def test_from_and_reset_work_as_in_events_tail(
    api: FakeApi, local_receiver: FakeReceiver, bridge: Callable[..., CommandResult]
) -> None:
    append_events(api, 2)
    bridge(begin=())
    bridge("--from", "start", begin=())
    assert list_event_names(local_receiver) == ["2"]
    append_events(api, 3)
    bridge("--reset", begin=())
    assert list_event_names(local_receiver) == ["2"]


def test_each_selection_has_its_own_cursor(
    api: FakeApi, shell: Shell, local_receiver: FakeReceiver, bridge: Callable[..., CommandResult]
) -> None:
    bridge()
    bridge("--events", "note.created")
    bridge("--cursor", "mine")
    found = sorted(path.stem for path in shell.cursors.glob("[!.]*.json"))
    host = api.url.removeprefix("http://").replace(":", "-")
    assert found[0] == f"listen-{host}"
    assert re.fullmatch(rf"listen-{re.escape(host)}-[0-9a-f]{{8}}", found[1])
    assert found[2:] == ["mine"]


def test_a_cursor_that_another_process_uses_is_rejected(
    api: FakeApi, bridge: Callable[..., CommandResult], time: FakeTime
) -> None:
    second: list[CommandResult] = []
    time.on_sleep = lambda seconds: second.append(bridge("--cursor", "one")) if not second else None
    assert bridge("--cursor", "one").code == 0
    assert second[0].code == 7
    assert "in use by process" in second[0].err


def test_a_cursor_of_another_server_is_rejected(
    api: FakeApi, shell: Shell, bridge: Callable[..., CommandResult]
) -> None:
    bridge("--cursor", "one")
    path = shell.cursors / "one.json"
    path.write_text(path.read_text().replace(api.url, "https://elsewhere.example"))
    assert bridge("--cursor", "one").code == 2


# --- failures of a program or the server -----------------------------------------------------------------------------


def test_a_rejected_event_is_retried_with_the_same_body_and_a_new_signature(
    api: FakeApi, local_receiver: FakeReceiver, bridge: Callable[..., CommandResult]
) -> None:
    append_events(api, 2)
    local_receiver.choose_script = lambda hit: OK if hit.attempt == 3 else SERVER_ERROR
    shown = bridge().rows
    assert [hit.attempt for hit in local_receiver.requests] == [1, 2, 3]
    assert (
        len({hit.body for hit in local_receiver.requests})
        == len({hit.delivery for hit in local_receiver.requests})
        == 1
    )
    assert len({hit.headers["x-service-signature"] for hit in local_receiver.requests}) == 3
    assert [(each["attempt"], each["forwards"][0]["status"]) for each in shown] == [(1, 503), (2, 503), (3, 200)]


def test_an_event_that_no_program_accepts_ends_the_run_and_is_first_in_the_next(
    api: FakeApi, local_receiver: FakeReceiver, bridge: Callable[..., CommandResult]
) -> None:
    append_events(api, 2, 3, 4)
    broken = {"3"}
    local_receiver.choose_script = lambda hit: SERVER_ERROR if json.loads(hit.body)["data"]["name"] in broken else OK
    done = bridge()
    assert done.code == 12
    assert "rejected event 3 in 5 attempts" in done.err
    assert list_event_names(local_receiver) == ["2", "3", "3", "3", "3", "3"]
    broken.clear()
    assert bridge(begin=()).code == 0
    assert list_event_names(local_receiver)[6:] == ["3", "4"]
    assert local_receiver.requests[6].delivery == local_receiver.requests[1].delivery, (
        "a receiver can tell that it knows it"
    )


def test_skip_failed_skips_rejected_events_with_a_note(
    api: FakeApi, local_receiver: FakeReceiver, bridge: Callable[..., CommandResult]
) -> None:
    append_events(api, 2, 3)
    local_receiver.choose_script = lambda hit: SERVER_ERROR if json.loads(hit.body)["data"]["name"] == "2" else OK
    done = bridge("--skip-failed")
    assert (done.code, list_event_names(local_receiver)[-1]) == (0, "3")
    assert "rejected event 2 in 5 attempts; skipping it" in done.err


def test_only_the_program_that_rejected_an_event_gets_it_again(
    api: FakeApi, local_receiver: FakeReceiver, bridge: Callable[..., CommandResult]
) -> None:
    append_events(api, 2, 3)
    with open_receiver(SERVER_ERROR) as other:
        done = bridge("--forward-to", other.url)
    assert (done.code, list_event_names(local_receiver), len(other.requests)) == (0, ["2", "3"], 10)
    assert done.err.count("; skipping it") == 2


def test_the_ready_message_waits_for_the_first_response_of_the_server(
    api: FakeApi, time: FakeTime, bridge: Callable[..., CommandResult]
) -> None:
    asked = iter(range(1000))
    api.before_page = lambda: None if next(asked) < 3 else problem(503, "unavailable")  # later ones fail
    done = bridge("--give-up-after", "30s", begin=())
    assert done.code == 11
    assert "stopped after" in done.err
    assert "following" not in done.err


def test_a_short_failure_is_reported_and_no_event_is_lost(
    api: FakeApi, local_receiver: FakeReceiver, time: FakeTime, bridge: Callable[..., CommandResult]
) -> None:
    append_events(api, 2)
    asked = iter(range(1000))
    api.before_page = lambda: problem(503, "unavailable") if 3 <= next(asked) < 6 else None
    done = bridge()
    assert (done.code, list_event_names(local_receiver)) == (0, ["2"])
    assert "the server is responding again" in done.err


def test_a_malformed_feed_exits_with_11_and_forwards_nothing(
    api: FakeApi, local_receiver: FakeReceiver, bridge: Callable[..., CommandResult]
) -> None:
    api.rows["activity"] = [{"id": 2, "event": "note.created"}]
    done = bridge("--give-up-after", "30s")
    assert (done.code, local_receiver.requests) == (11, [])


def test_a_quiet_feed_prints_heartbeat_lines(bridge: Callable[..., CommandResult]) -> None:
    assert bridge("--heartbeat", "20s").err.count("still following") >= 1


def test_repeated_kills_lose_no_event(api: FakeApi, tmp_path: Path) -> None:
    chance = random.Random(5)
    lock = threading.Lock()
    fed = 1

    def feed(most: int) -> None:
        nonlocal fed
        with lock:
            count = chance.randint(1, most)
            append_events(api, *range(fed + 1, fed + count + 1))
            fed += count

    env = make_env(tmp_path, DOCSHARE_URL=api.url, DOCSHARE_TOKEN="ds_live_" + "s" * 32)
    with open_receiver() as program:
        options = ("--forward-to", program.url, "--cursor", "kept", "--interval", "10ms", "--from", "start")
        program.choose_script = _feed_while_receiving(feed)
        feed(130)
        for number in range(8):
            with run_listener(env, *(options if number == 0 else options[:-2])) as running:
                before, wanted = len(program.requests), chance.randint(1, 25)
                wait_until(lambda: len(program.requests) >= min(before + wanted, fed - 1), seconds=60)  # noqa: B023
                running.end(signal.SIGKILL)
            feed(10)
        program.set_script(OK)
        with run_listener(env, *options[:-2]) as running:
            wait_until(lambda: set(list_event_names(program)) == {str(each) for each in range(2, fed + 1)}, seconds=60)
            assert running.end() == 143
    again = len(program.requests) - (fed - 1)
    assert 0 <= again <= 8, "at most the one in flight comes twice at each kill"
    first_seen = list(dict.fromkeys(list_event_names(program)))
    assert first_seen == [str(each) for each in range(2, fed + 1)], "in order, none skipped"


def _feed_while_receiving(feed: Callable[[int], None]) -> Callable[[ReceivedRequest], Any]:
    """Let a received event cause another one now and then."""
    chance = random.Random(7)

    def choose(_: ReceivedRequest) -> Any:
        if chance.random() < 0.3:
            feed(2)
        return OK

    return choose
