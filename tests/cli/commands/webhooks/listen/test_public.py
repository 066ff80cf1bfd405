"""``docshare webhooks listen --public-url``: a webhook of the account, which is deleted when the listener ends.

These tests use no tunnel: the server may call this machine, so the public URL is that of the listener itself.
"""

from __future__ import annotations

import json
import signal
import socket
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.cli.commands.fakes.webhooks import FakeWebhooks
from tests.support.outside.fake_api import FakeApi, FakeResponse, FakeTime, RecordedRequest, problem
from tests.support.outside.receivers import FAILING_SCRIPTS, open_receiver
from tests.support.outside.webhook_listener import ListenerProcess, ListenerThread, replace_content, run_listener
from tests.support.polling import wait_until
from tests.support.ports import find_free_port
from tests.support.servers.server_process import ServerProcess, make_env, run_docshare
from tests.support.shell import TOKEN, Shell

READY = "ready: a test delivery arrived"


@pytest.fixture
def tunnel() -> tuple[str, ...]:
    """Return the options of a listener on a free port, including its URL."""
    port = str(find_free_port())
    return "--public-url", f"http://127.0.0.1:{port}/in", "--port", port


def list_webhooks(server: ServerProcess) -> list[dict[str, Any]]:
    answer = requests.get(f"{server.url}/api/v1/webhooks", headers=server.headers, timeout=30)
    found: list[dict[str, Any]] = answer.json()["webhooks"]
    return found


def read_listener_file(folder: Path) -> list[dict[str, Any]]:
    path = folder / "state" / "listeners.json"
    found: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
    return found


def test_deliveries_through_the_tunnel_are_verified_and_forwarded(
    server: ServerProcess, env: dict[str, str], tunnel: tuple[str, ...], deck: str
) -> None:
    with open_receiver() as program:
        with run_listener(env, *tunnel, "--forward-to", program.url, "--json") as running:
            running.wait_for_line(READY)
            (webhook,) = list_webhooks(server)
            replace_content(server, deck)
            row = running.read_row()
        assert webhook["url"] == tunnel[1]
        assert len(webhook["events"]) == 9
        assert (row["kind"], row["verified"], row["answer"]) == ("content.replaced", True, 200)
        (hit,) = program.requests
    assert json.loads(hit.body)["data"]["fileUuid"] == deck


def test_the_server_retries_if_the_program_rejects_a_delivery(
    server: ServerProcess, env: dict[str, str], tunnel: tuple[str, ...], deck: str
) -> None:
    with (
        open_receiver(FAILING_SCRIPTS["5xx"]) as program,
        run_listener(env, *tunnel, "--forward-to", program.url) as running,
    ):
        running.wait_for_line(READY)
        uuid = list_webhooks(server)[0]["uuid"]
        replace_content(server, deck)
        running.read_line()
        url = f"{server.url}/api/v1/webhooks/{uuid}/deliveries"

        def list_states() -> list[tuple[str, list[int]]]:
            rows = requests.get(url, headers=server.headers, timeout=30).json()
            return [(row["state"], [attempt["status"] for attempt in row["attempts"]]) for row in rows]

        wait_until(lambda: list_states() == [("queued", [503])])


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_the_webhook_is_deleted_at_the_end(
    server: ServerProcess, env: dict[str, str], tunnel: tuple[str, ...], tmp_path: Path, number: int, code: int
) -> None:
    with run_listener(env, *tunnel) as running:
        running.wait_for_line(READY)
        (entry,) = read_listener_file(tmp_path)
        assert (entry["uuid"], entry["url"]) == (list_webhooks(server)[0]["uuid"], tunnel[1])
        assert (entry["origin"], entry["profile"], entry["createdAt"][-1]) == (server.url, None, "Z")
        assert running.end(number) == code
    assert (list_webhooks(server), read_listener_file(tmp_path)) == ([], [])


def kill_listener(env: dict[str, str], tunnel: tuple[str, ...]) -> None:
    with run_listener(env, *tunnel) as running:
        running.wait_for_line(READY)
        running.end(signal.SIGKILL)


def test_the_webhook_of_a_killed_listener_is_pruned(
    server: ServerProcess, env: dict[str, str], tunnel: tuple[str, ...], tmp_path: Path
) -> None:
    kill_listener(env, tunnel)
    assert len(list_webhooks(server)) == len(read_listener_file(tmp_path)) == 1
    done = run_docshare("webhooks", "prune", "--yes", env=env)
    assert done.returncode == 0, done.stderr
    assert (list_webhooks(server), read_listener_file(tmp_path)) == ([], [])


def test_the_webhook_of_a_running_listener_is_not_pruned(
    server: ServerProcess, env: dict[str, str], tunnel: tuple[str, ...], tmp_path: Path
) -> None:
    with run_listener(env, *tunnel) as running:
        running.wait_for_line(READY)
        assert run_docshare("webhooks", "prune", "--yes", env=env).returncode == 0
        assert len(list_webhooks(server)) == 1


def test_a_broken_tunnel_is_reported_instead_of_the_ready_message(
    server: ServerProcess, env: dict[str, str], tmp_path: Path
) -> None:
    with run_listener(env, "--public-url", "http://127.0.0.1:1/in", "--port", str(find_free_port())) as running:
        assert running.wait() == 11
        assert "did not arrive: there was no response" in running.read_stderr()
        assert "ready" not in running.read_stderr()
    assert (list_webhooks(server), read_listener_file(tmp_path)) == ([], [])


def test_a_port_in_use_exits_with_7_and_creates_no_webhook(server: ServerProcess, env: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with run_listener(env, "--public-url", f"http://127.0.0.1:{port}/", "--port", port) as running:
            assert running.wait() == 7
    assert list_webhooks(server) == []


def test_a_url_that_the_server_rejects_exits_with_9(server: ServerProcess, env: dict[str, str]) -> None:
    with run_listener(env, "--public-url", "https://169.254.169.254/", "--port", str(find_free_port())) as running:
        assert running.wait() == 9


# --- changes on the server during the run ----------------------------------------------------------------------------


@pytest.fixture
def fake_webhooks(api: FakeApi) -> FakeWebhooks:
    return FakeWebhooks(api)


def start_listener(shell: Shell, webhooks_api: FakeWebhooks, *options: str) -> ListenerThread:
    """Start a listener and wait until its webhook has been created and tested."""
    found = ListenerThread(
        shell, "--public-url", "https://tunnel.example/in", "--port", str(find_free_port()), *options
    )
    wait_until(lambda: READY in found.stderr, seconds=60)
    return found


def test_deleting_the_webhook_ends_the_listener_with_an_error(fake_webhooks: FakeWebhooks, shell: Shell) -> None:
    running = start_listener(shell, fake_webhooks)
    fake_webhooks.rows.clear()
    done = running.wait_for_end()
    assert (done.code, "the webhook was deleted" in done.err) == (11, True)


def test_disabling_the_webhook_ends_the_listener_with_an_error_and_deletes_the_webhook(
    fake_webhooks: FakeWebhooks, shell: Shell
) -> None:
    running = start_listener(shell, fake_webhooks)
    fake_webhooks.rows[0]["active"] = False
    done = running.wait_for_end()
    assert (done.code, "the server disabled the webhook" in done.err) == (11, True)
    assert fake_webhooks.rows == []


def test_a_webhook_that_cannot_be_deleted_stays_in_the_listener_file(
    fake_webhooks: FakeWebhooks, api: FakeApi, shell: Shell
) -> None:
    running = start_listener(shell, fake_webhooks, "--timeout", "5m")
    api.on("DELETE", f"/webhooks/{fake_webhooks.rows[0]['uuid']}", problem(403, "forbidden"))
    done = running.wait_for_end()
    assert (done.code, "delete it with: docshare webhooks prune" in done.err) == (0, True)
    assert [entry["uuid"] for entry in read_listener_file(shell.home)] == [fake_webhooks.rows[0]["uuid"]]


def test_a_signal_during_the_cleanup_does_not_interrupt_it(
    fake_webhooks: FakeWebhooks, api: FakeApi, shell: Shell, tmp_path: Path
) -> None:
    env = make_env(tmp_path, DOCSHARE_URL=api.url, DOCSHARE_TOKEN=TOKEN)
    with run_listener(env, "--public-url", "https://tunnel.example/in", "--port", str(find_free_port())) as running:
        running.wait_for_line(READY)

        def signal_and_delete(_: RecordedRequest) -> FakeResponse:
            running.process.send_signal(signal.SIGTERM)
            return FakeResponse(b"", 204)

        api.on("DELETE", f"/webhooks/{fake_webhooks.rows[0]['uuid']}", signal_and_delete)
        running.process.send_signal(signal.SIGINT)
        assert running.wait() == 143
    assert read_listener_file(tmp_path) == []


def test_a_failed_test_delivery_ends_the_listener_with_the_status(
    fake_webhooks: FakeWebhooks, shell: Shell, time: FakeTime
) -> None:
    fake_webhooks.results = [{"delivered": False, "status": 502, "latencyMs": 3}]
    done = shell("webhooks", "listen", "--public-url", "https://tunnel.example/in", "--port", str(find_free_port()))
    assert (done.code, "the response was 502" in done.err) == (11, True)
    assert fake_webhooks.rows == []


def test_the_test_delivery_itself_is_not_printed(
    server: ServerProcess, env: dict[str, str], tunnel: tuple[str, ...]
) -> None:
    with open_receiver() as program:
        running: ListenerProcess
        with run_listener(env, *tunnel, "--forward-to", program.url) as running:
            running.wait_for_line(READY)
        assert (running.read_remaining(), program.requests) == ([], [])
