"""``docshare webhooks listen`` with a real server: real deliveries, forwarding, and exit codes."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from docshare.contract.signing import sign
from tests.support.outside.receivers import FAILING_SCRIPTS, open_receiver
from tests.support.outside.webhook_listener import Listen, post_delivery, replace_content, run_listener, upload_file
from tests.support.polling import wait_until
from tests.support.servers.server_process import ServerProcess, run_docshare


def query_rows(server: ServerProcess, query: str, *values: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{server.data_dir / 'docshare.db'}?mode=ro", uri=True)) as database:
        return database.execute(query, values).fetchall()


def list_listeners(server: ServerProcess) -> list[tuple[Any, ...]]:
    return query_rows(server, "SELECT events, file_id FROM webhooks WHERE listens_until IS NOT NULL")


# --- received deliveries ---------------------------------------------------------------------------------------------


def test_a_local_program_gets_deliveries_that_verify_with_the_printed_secret(
    server: ServerProcess, listen: Listen, deck: str
) -> None:
    with open_receiver() as program, listen("--forward-to", program.url, "--json", "--exit-after", "1") as running:
        running.wait_for_line("ready")
        replace_content(server, deck)
        row = running.read_row()
        assert running.wait() == 0
    (hit,) = program.requests
    stamp = int(hit.headers["x-service-signature"].partition(",")[0].removeprefix("t="))
    assert hit.headers["x-service-signature"] == sign(running.last_secret, hit.body, stamp * 1000)
    assert hit.headers["content-type"] == "application/json"
    assert hit.headers["user-agent"] == "Service-Webhooks/1.0"
    assert (hit.headers["webhook-event"], hit.attempt, hit.delivery) == ("content.replaced", 1, row["id"])
    assert hit.headers["host"] == program.url.split("/")[2]
    assert json.loads(hit.body)["data"] == {"fileUuid": deck, "fileName": "next.pdf", "contentVersion": 2}


def test_a_json_row_has_all_fields_of_a_delivery(server: ServerProcess, listen: Listen, deck: str) -> None:
    with open_receiver() as program, listen("--forward-to", program.url, "--json") as running:
        running.wait_for_line("ready")
        replace_content(server, deck)
        row = running.read_row()
    assert list(row) == [
        "receivedAt", "kind", "fileName", "verified", "id", "attempt", "answer", "body", "forwards",
    ]  # fmt: skip
    facts = (row["kind"], row["fileName"], row["verified"], row["attempt"], row["answer"])
    assert facts == ("content.replaced", "next.pdf", True, 1, 200)
    assert row["body"].encode() == program.requests[0].body
    (forward,) = row["forwards"]
    assert (forward["url"], forward["status"], forward["ms"] >= 0) == (program.url, 200, True)


def test_deliveries_are_only_printed_if_there_is_no_program(server: ServerProcess, listen: Listen, deck: str) -> None:
    with listen() as running:
        running.wait_for_line("ready")
        replace_content(server, deck)
        received, *cells = running.read_line().split("\t")
    assert received.endswith("Z")
    assert (cells[:3], cells[4:]) == (["content.replaced", "next.pdf", "true"], ["1", "200", "[]"])


def test_the_test_option_sends_a_test_event_through_the_listener(
    server: ServerProcess, listen: Listen, deck: str
) -> None:
    with open_receiver() as program, listen("--forward-to", program.url, "--test", "--json") as running:
        row = running.read_row()
        running.wait_for_line("ready")
        assert (row["kind"], row["verified"], row["answer"]) == ("webhook.test", True, 200)
    assert [json.loads(hit.body)["event"] for hit in program.requests] == ["webhook.test"]


def test_a_bridged_event_has_the_body_of_a_real_delivery(
    server: ServerProcess, env: dict[str, str], listen: Listen, deck: str
) -> None:
    with listen("--json") as running:
        running.wait_for_line("ready")
        replace_content(server, deck)
        real = running.read_row()
    options = ("--bridge", "--from", "start", "--file", deck, "--exit-after", "1", "--json")
    with run_listener(env, *options) as running:
        assert running.read_row()["body"] == real["body"]


def test_several_programs_get_each_delivery(server: ServerProcess, listen: Listen, deck: str) -> None:
    with open_receiver() as one, open_receiver() as two:
        with listen("--forward-to", one.url, "--forward-to", two.url, "--json") as running:
            running.wait_for_line("ready")
            replace_content(server, deck)
            assert [forward["url"] for forward in running.read_row()["forwards"]] == [one.url, two.url]
        assert one.requests[0].body == two.requests[0].body


def test_only_selected_kinds_of_the_selected_file_are_delivered(
    server: ServerProcess, listen: Listen, deck: str
) -> None:
    other = upload_file(server)
    with listen("--events", "file.burned,content.replaced", "--file", deck, "--json") as running:
        running.wait_for_line("ready")
        assert [events for events, _ in list_listeners(server)] == ['["file.burned", "content.replaced"]']
        replace_content(server, other)
        replace_content(server, deck)
        assert json.loads(running.read_row()["body"])["data"]["fileUuid"] == deck


def test_all_nine_kinds_are_delivered_by_default(server: ServerProcess, listen: Listen) -> None:
    with listen() as running:
        running.wait_for_line("ready")
        ((events, file),) = list_listeners(server)
    assert json.loads(events) == [
        "file.viewed", "file.downloaded", "gate.completed", "note.created", "receipt.confirmed", "file.burned",
        "content.replaced", "invite.viewed", "proofing.updated",
    ]  # fmt: skip
    assert file is None


def test_each_account_gets_only_its_own_events(
    server: ServerProcess, env: dict[str, str], listen: Listen, deck: str
) -> None:
    email = "second@example.com"
    made = run_docshare("admin", "--data", str(server.data_dir), "account", "create", email, "--json", env=env)
    second = {"Authorization": f"Bearer {json.loads(made.stdout)['apiKey']}"}
    mine = upload_file(server, second)
    env["DOCSHARE_TOKEN"] = second["Authorization"].split()[1]
    with listen("--json") as running:
        assert running.wait_for_line(f"as {email}")
        running.wait_for_line("ready")
        replace_content(server, deck)
        replace_content(server, mine, second)
        assert json.loads(running.read_row()["body"])["data"]["fileUuid"] == mine


def test_without_a_credential_the_events_of_the_owner_are_delivered(
    server: ServerProcess, env: dict[str, str], listen: Listen
) -> None:
    del env["DOCSHARE_TOKEN"]
    with listen() as running:
        assert running.wait_for_line("as owner@example.com")


# --- responses to the server -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("habit", "status", "answered"), [("5xx", 503, 503), ("4xx", 404, 404), ("redirect", 307, 502), ("reset", 0, 502)]
)
def test_the_error_of_a_program_is_passed_to_the_server(
    server: ServerProcess, listen: Listen, deck: str, habit: str, status: int, answered: int
) -> None:
    with open_receiver(FAILING_SCRIPTS[habit]) as program, listen("--forward-to", program.url, "--json") as running:
        running.wait_for_line("ready")
        replace_content(server, deck)
        row = running.read_row()
        booked = list_attempts(server, row["id"])
    assert (row["forwards"][0]["status"], row["answer"]) == (status, answered)
    assert booked == [(answered, True)], "the server has noted the status and tries again"


def list_attempts(server: ServerProcess, delivery: str) -> list[tuple[int, bool]]:
    """Return the status of each attempt of a delivery, and whether a retry is due."""
    query = (
        "SELECT a.status, d.next_at IS NOT NULL FROM deliveries d JOIN attempts a ON a.delivery_id = d.id "
        "WHERE d.uuid = ? AND d.claimed_at IS NULL"
    )
    found: list[tuple[int, bool]] = []
    wait_until(lambda: found.extend(query_rows(server, query, delivery)) or found)  # it is recorded after the response
    return found


def test_an_unreachable_program_is_reported_and_the_server_retries(
    server: ServerProcess, listen: Listen, deck: str
) -> None:
    with listen("--forward-to", "http://127.0.0.1:1/hook", "--json") as running:
        running.wait_for_line("ready")
        replace_content(server, deck)
        row = running.read_row()
    assert (row["answer"], row["forwards"][0]["status"], row["forwards"][0]["error"]) == (502, 0, "connection failed")


def test_a_slow_program_times_out(server: ServerProcess, listen: Listen, deck: str) -> None:
    options = ("--forward-timeout", "200ms", "--json")
    with open_receiver(FAILING_SCRIPTS["hang"]) as program, listen("--forward-to", program.url, *options) as running:
        running.wait_for_line("ready")
        replace_content(server, deck)
        row = running.read_row()
    assert (row["answer"], row["forwards"][0]["error"]) == (502, "no response within 0.2 s")


def test_status_and_latency_simulate_a_bad_receiver(server: ServerProcess, listen: Listen, deck: str) -> None:
    options = ("--status", "503", "--latency", "300ms", "--json")
    with open_receiver() as program, listen("--forward-to", program.url, *options) as running:
        running.wait_for_line("ready")
        replace_content(server, deck)
        row = running.read_row()
        assert list_attempts(server, row["id"]) == [(503, True)]
    assert (row["answer"], row["forwards"], program.requests) == (503, [], [])


def test_fail_rate_rejects_a_share_of_deliveries(server: ServerProcess, listen: Listen, deck: str) -> None:
    with listen("--fail-rate", "0.5", "--json", "--exit-after", "40") as running:
        url = running.url
        for _ in range(40):
            post_delivery(url, running.last_secret, b'{"event":"file.viewed"}')
        answers = [running.read_row()["answer"] for _ in range(40)]
        assert running.wait() == 0
    assert set(answers) == {200, 500}


# --- exit codes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_the_listener_and_deletes_it_on_the_server(
    server: ServerProcess, listen: Listen, number: int, code: int
) -> None:
    with listen() as running:
        running.wait_for_line("ready")
        assert len(list_listeners(server)) == 1
        assert running.end(number) == code
        assert "interrupted" not in running.read_stderr()
    assert list_listeners(server) == []


@pytest.mark.parametrize(("options", "code"), [((), 0), (("--exit-after", "1"), 124)])
def test_the_listener_ends_after_the_timeout(listen: Listen, options: tuple[str, ...], code: int) -> None:
    with listen("--timeout", "100ms", *options) as running:
        assert running.wait() == code


def test_a_closed_pipe_ends_the_listener(server: ServerProcess, env: dict[str, str], deck: str) -> None:
    read, write = os.pipe()
    os.close(read)
    with run_listener(env, "--data", str(server.data_dir), stdout=write) as running:
        os.close(write)
        running.wait_for_line("ready")
        replace_content(server, deck)
        assert running.wait() == 141
    assert list_listeners(server) == []
