"""``docshare webhooks listen --public-url``: a webhook of the account, gone when the listening ends.

The tunnel of these tests is none: the server may call this machine, so the public address is the receiver's own.
"""

from __future__ import annotations

import json
import signal
import socket
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.cli.commands.switchboard import Switchboard
from tests.support.fakefeed import Answer, FakeApi, FakeTime, Heard, problem
from tests.support.listening import Attending, Listening, listener, replace
from tests.support.receivers import BAD_HABITS, receiver_at
from tests.support.served import Served, docshare, home
from tests.support.shell import TOKEN, Shell
from tests.support.waiting import eventually

READY = "ready: a test delivery has arrived"


@pytest.fixture
def tunnel() -> tuple[str, ...]:
    """The options of a listener at a free port, with its address."""
    port = free_port()
    return "--public-url", f"http://127.0.0.1:{port}/in", "--port", port


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return str(free.getsockname()[1])


def webhooks(server: Served) -> list[dict[str, Any]]:
    answer = requests.get(f"{server.url}/api/v1/webhooks", headers=server.headers, timeout=30)
    found: list[dict[str, Any]] = answer.json()["webhooks"]
    return found


def noted(folder: Path) -> list[dict[str, Any]]:
    path = folder / "state" / "listeners.json"
    found: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
    return found


def test_what_comes_through_the_tunnel_is_verified_and_handed_on(
    server: Served, env: dict[str, str], tunnel: tuple[str, ...], deck: str
) -> None:
    with receiver_at() as program:
        with listener(env, *tunnel, "--forward-to", program.url, "--json") as running:
            running.until(READY)
            (webhook,) = webhooks(server)
            replace(server, deck)
            row = running.row()
        assert webhook["url"] == tunnel[1]
        assert len(webhook["events"]) == 9
        assert (row["kind"], row["verified"], row["answer"]) == ("content.replaced", True, 200)
        (hit,) = program.hits
    assert json.loads(hit.body)["data"]["fileUuid"] == deck


def test_a_program_that_refuses_makes_the_server_try_again(
    server: Served, env: dict[str, str], tunnel: tuple[str, ...], deck: str
) -> None:
    with receiver_at(BAD_HABITS["5xx"]) as program, listener(env, *tunnel, "--forward-to", program.url) as running:
        running.until(READY)
        uuid = webhooks(server)[0]["uuid"]
        replace(server, deck)
        running.line()
        url = f"{server.url}/api/v1/webhooks/{uuid}/deliveries"

        def states() -> list[tuple[str, list[int]]]:
            rows = requests.get(url, headers=server.headers, timeout=30).json()
            return [(row["state"], [attempt["status"] for attempt in row["attempts"]]) for row in rows]

        eventually(lambda: states() == [("queued", [503])])


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_the_webhook_is_gone_at_the_end(
    server: Served, env: dict[str, str], tunnel: tuple[str, ...], tmp_path: Path, number: int, code: int
) -> None:
    with listener(env, *tunnel) as running:
        running.until(READY)
        (entry,) = noted(tmp_path)
        assert (entry["uuid"], entry["url"]) == (webhooks(server)[0]["uuid"], tunnel[1])
        assert (entry["origin"], entry["profile"], entry["createdAt"][-1]) == (server.url, None, "Z")
        assert running.end(number) == code
    assert (webhooks(server), noted(tmp_path)) == ([], [])


def killed(env: dict[str, str], tunnel: tuple[str, ...]) -> None:
    with listener(env, *tunnel) as running:
        running.until(READY)
        running.end(signal.SIGKILL)


def test_what_a_killed_listener_leaves_behind_is_pruned(
    server: Served, env: dict[str, str], tunnel: tuple[str, ...], tmp_path: Path
) -> None:
    killed(env, tunnel)
    assert len(webhooks(server)) == len(noted(tmp_path)) == 1
    done = docshare("webhooks", "prune", "--yes", env=env)
    assert done.returncode == 0, done.stderr
    assert (webhooks(server), noted(tmp_path)) == ([], [])


def test_a_listener_that_runs_is_not_pruned(
    server: Served, env: dict[str, str], tunnel: tuple[str, ...], tmp_path: Path
) -> None:
    with listener(env, *tunnel) as running:
        running.until(READY)
        assert docshare("webhooks", "prune", "--yes", env=env).returncode == 0
        assert len(webhooks(server)) == 1


def test_a_tunnel_that_leads_nowhere_is_told_before_it_says_ready(
    server: Served, env: dict[str, str], tmp_path: Path
) -> None:
    with listener(env, "--public-url", "http://127.0.0.1:1/in", "--port", free_port()) as running:
        assert running.wait() == 11
        assert "did not arrive: nothing answered there" in running.words()
        assert "ready" not in running.words()
    assert (webhooks(server), noted(tmp_path)) == ([], [])


def test_a_port_that_is_taken_ends_with_7_before_a_webhook_is_made(server: Served, env: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with listener(env, "--public-url", f"http://127.0.0.1:{port}/", "--port", port) as running:
            assert running.wait() == 7
    assert webhooks(server) == []


def test_an_address_that_the_server_refuses_ends_with_9(server: Served, env: dict[str, str]) -> None:
    with listener(env, "--public-url", "https://169.254.169.254/", "--port", free_port()) as running:
        assert running.wait() == 9


# --- what the server does meanwhile ----------------------------------------------------------------------------------


@pytest.fixture
def board(api: FakeApi) -> Switchboard:
    return Switchboard(api)


def attending(shell: Shell, board: Switchboard, *options: str) -> Attending:
    """A listener whose webhook stands and was tested."""
    found = Attending(shell, "--public-url", "https://tunnel.example/in", "--port", free_port(), *options)
    eventually(lambda: READY in found.said, seconds=60)
    return found


def test_a_webhook_that_somebody_deletes_ends_it_loudly(board: Switchboard, shell: Shell) -> None:
    running = attending(shell, board)
    board.rows.clear()
    done = running.over()
    assert (done.code, "somebody deleted the webhook" in done.err) == (11, True)


def test_a_webhook_that_is_disabled_ends_it_loudly_and_is_deleted(board: Switchboard, shell: Shell) -> None:
    running = attending(shell, board)
    board.rows[0]["active"] = False
    done = running.over()
    assert (done.code, "the server disabled the webhook" in done.err) == (11, True)
    assert board.rows == []


def test_a_webhook_that_cannot_be_deleted_stays_noted(board: Switchboard, api: FakeApi, shell: Shell) -> None:
    running = attending(shell, board, "--timeout", "5m")
    api.on("DELETE", f"/webhooks/{board.rows[0]['uuid']}", problem(403, "forbidden"))
    done = running.over()
    assert (done.code, "remove it with: docshare webhooks prune" in done.err) == (0, True)
    assert [entry["uuid"] for entry in noted(shell.home)] == [board.rows[0]["uuid"]]


def test_a_signal_while_it_tidies_up_does_not_keep_it_from_that(
    board: Switchboard, api: FakeApi, shell: Shell, tmp_path: Path
) -> None:
    env = home(tmp_path, DOCSHARE_URL=api.url, DOCSHARE_TOKEN=TOKEN)
    with listener(env, "--public-url", "https://tunnel.example/in", "--port", free_port()) as running:
        running.until(READY)

        def deleted(_: Heard) -> Answer:
            running.process.send_signal(signal.SIGTERM)
            return Answer(b"", 204)

        api.on("DELETE", f"/webhooks/{board.rows[0]['uuid']}", deleted)
        running.process.send_signal(signal.SIGINT)
        assert running.wait() == 143
    assert noted(tmp_path) == []


def test_a_test_that_is_not_delivered_ends_it_with_the_status(board: Switchboard, shell: Shell, time: FakeTime) -> None:
    board.results = [{"delivered": False, "status": 502, "latencyMs": 3}]
    done = shell("webhooks", "listen", "--public-url", "https://tunnel.example/in", "--port", free_port())
    assert (done.code, "the answer there was 502" in done.err) == (11, True)
    assert board.rows == []


def test_the_test_delivery_itself_is_not_shown(server: Served, env: dict[str, str], tunnel: tuple[str, ...]) -> None:
    with receiver_at() as program:
        running: Listening
        with listener(env, *tunnel, "--forward-to", program.url) as running:
            running.until(READY)
        assert (running.rest(), program.hits) == ([], [])
