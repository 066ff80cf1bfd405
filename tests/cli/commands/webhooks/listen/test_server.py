"""Which server ``docshare webhooks listen`` uses, and what it does while that server is unreachable."""

from __future__ import annotations

import dataclasses
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from docshare.cli.framework.admin_channel import RunningServer
from tests.support.outside.fake_api import FakeApi, FakeTime
from tests.support.outside.webhook_listener import ListenerThread, replace_content, run_listener, upload_file
from tests.support.polling import wait_until
from tests.support.servers.server_process import (
    COMMAND,
    ServerProcess,
    make_env,
    run_docshare,
    run_server,
    start_server,
)
from tests.support.shell import Shell


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    with run_server(tmp_path / "server", DOCSHARE_RATE_LIMIT="1000000") as server:
        yield server


@pytest.fixture
def shell(server: ServerProcess, time: FakeTime, tmp_path: Path) -> Shell:
    shell = Shell(tmp_path, server.url, time)
    shell.env["DOCSHARE_TOKEN"] = server.token
    return shell


def list_listener_uuids(server: ServerProcess) -> list[str]:
    query = "SELECT uuid FROM webhooks WHERE listens_until IS NOT NULL"
    with closing(sqlite3.connect(f"file:{server.data_dir / 'docshare.db'}?mode=ro", uri=True)) as database:
        return [uuid for (uuid,) in database.execute(query)]


def wait_for_listener(server: ServerProcess, listener_thread: ListenerThread) -> str:
    """Return the UUID of the only listener as soon as it is ready."""
    wait_until(lambda: list_listener_uuids(server), seconds=60)
    wait_until(lambda: "ready: " in listener_thread.stderr, seconds=60)
    return list_listener_uuids(server)[0]


# --- choice of the server --------------------------------------------------------------------------------------------


def make_environments(server: ServerProcess, folder: Path) -> dict[str, dict[str, str]]:
    data = {"DOCSHARE_DATA_DIR": str(server.data_dir)}
    return {
        "nothing is set up": make_env(folder) | data,
        "its address": make_env(folder, DOCSHARE_URL=server.url, DOCSHARE_TOKEN=server.token) | data,
        "elsewhere, and --data": make_env(folder, DOCSHARE_URL="https://docs.example"),
    }


@pytest.mark.parametrize("case", ["nothing is set up", "its address", "elsewhere, and --data"])
def test_the_server_on_this_machine_delivers_directly(server: ServerProcess, tmp_path: Path, case: str) -> None:
    options = ("--data", str(server.data_dir)) if case == "elsewhere, and --data" else ()
    with run_listener(make_environments(server, tmp_path)[case], *options) as running:
        assert running.wait_for_line(
            f"listening to the server on this machine ({server.data_dir}) as owner@example.com"
        )
        assert running.wait_for_line("ready: deliveries arrive at http://127.0.0.1:")


def test_the_profile_local_selects_the_server_on_this_machine(server: ServerProcess, tmp_path: Path) -> None:
    env = make_env(tmp_path) | {"DOCSHARE_DATA_DIR": str(server.data_dir)}
    line = [*COMMAND, "profile", "add", "local", "--url", server.url, "--with-token"]
    done = subprocess.run(line, env=env, input=server.token, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with run_listener(env) as running:
        assert running.wait_for_line("listening to the server on this machine")


def test_a_remote_server_is_bridged(api: FakeApi, shell: Shell, server: ServerProcess) -> None:
    shell.env |= {"DOCSHARE_URL": api.url, "DOCSHARE_DATA_DIR": str(server.data_dir)}
    done = shell("webhooks", "listen", "--timeout", "10s")
    assert (done.code, f"bridging the feed of {api.url}" in done.err) == (0, True)


def test_the_server_on_this_machine_can_be_bridged_too(server: ServerProcess, shell: Shell) -> None:
    shell.env["DOCSHARE_DATA_DIR"] = str(server.data_dir)
    done = shell("webhooks", "listen", "--bridge", "--timeout", "10s")
    assert (done.code, f"bridging the feed of {server.url}" in done.err) == (0, True)


# --- unreachable servers ---------------------------------------------------------------------------------------------


def test_a_missing_server_prints_how_to_start_one(tmp_path: Path, time: FakeTime) -> None:
    shell = Shell(tmp_path, "", time)
    del shell.env["DOCSHARE_URL"]
    done = shell("webhooks", "listen", "--json")
    assert (done.code, done.out) == (11, "")
    assert done.error["detail"] == f"no docshare server is running on {tmp_path / 'data'}"
    assert done.error["hint"] == "Start it: docshare serve"


def test_a_stopped_server_exits_with_11(tmp_path: Path) -> None:
    with run_server(tmp_path) as server:
        env = make_env(tmp_path)
    assert run_docshare("webhooks", "listen", "--data", str(server.data_dir), env=env).returncode == 11


def test_a_server_that_stays_unreachable_ends_the_listener_with_an_error(server: ServerProcess, shell: Shell) -> None:
    listener_thread = ListenerThread(shell, "--data", str(server.data_dir), "--give-up-after", "1m")
    wait_for_listener(server, listener_thread)
    server.process.send_signal(signal.SIGKILL)
    server.process.wait()
    done = listener_thread.wait_for_end()
    assert done.code == 11
    assert "cannot be reached; retrying" in done.err
    assert "stopped after" in done.err


def test_a_server_that_restarts_on_another_port_is_found(server: ServerProcess, shell: Shell, tmp_path: Path) -> None:
    listener_thread = ListenerThread(
        shell, "--data", str(server.data_dir), "--give-up-after", "1000h", "--exit-after", "1"
    )
    wait_for_listener(server, listener_thread)
    server.process.terminate()
    server.process.wait()
    wait_until(lambda: listener_thread.advance_time(11) or "cannot be reached" in listener_thread.stderr, seconds=60)
    process, url = start_server("--data", str(server.data_dir), "--port", "0", env=make_env(tmp_path / "server"))
    try:
        moved = dataclasses.replace(server, url=url)
        wait_until(
            lambda: listener_thread.advance_time(11) or "is responding again" in listener_thread.stderr, seconds=60
        )
        replace_content(moved, upload_file(moved))
        listener_thread.join(60)
        assert listener_thread.result is not None
        assert listener_thread.result.code == 0
        assert listener_thread.result.out.split("\t")[1:4] == ["content.replaced", "next.pdf", "true"]
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_a_listener_that_the_server_deleted_registers_again_with_the_same_secret_and_a_note(
    server: ServerProcess, shell: Shell
) -> None:
    listener_thread = ListenerThread(shell, "--data", str(server.data_dir), "--exit-after", "1")
    first = wait_for_listener(server, listener_thread)
    RunningServer(server.data_dir).run_command("listen stop", {"uuid": first})
    wait_until(lambda: listener_thread.advance_time(11) or list_listener_uuids(server), seconds=60)
    replace_content(server, upload_file(server))
    listener_thread.join(60)
    assert listener_thread.result is not None
    assert listener_thread.result.code == 0
    assert listener_thread.result.out.split("\t")[3] == "true"
    assert listener_thread.result.err.count("were not delivered") == 1


def test_a_quiet_listener_prints_heartbeat_lines(server: ServerProcess, shell: Shell) -> None:
    listener_thread = ListenerThread(shell, "--data", str(server.data_dir), "--timeout", "1000h")
    wait_for_listener(server, listener_thread)
    heartbeat = "still listening; 0 deliveries so far"
    wait_until(lambda: listener_thread.advance_time() or heartbeat in listener_thread.stderr, seconds=60)
    listener_thread.advance_time(1000 * 3600)
    assert listener_thread.wait_for_end().code == 0


# --- conflicting options ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        ("--bridge", "--data", "."),
        ("--public-url", "https://x.example", "--bridge"),
        ("--public-url", "https://x.example"),
        ("--public-url", "https://x.example", "--port", "4000", "--secret-file", "SECRET"),
        ("--bridge", "--status", "500"),
        ("--bridge", "--latency", "1s"),
        ("--bridge", "--test"),
        ("--data", ".", "--cursor", "x"),
        ("--data", ".", "--skip-failed"),
        ("--forward-to", "localhost:3000"),
        ("--forward-to", "ftp://localhost/"),
        ("--events", "file.vewed"),
        ("--events", "webhook.test"),
        ("--secret-file", "missing.txt"),
        ("--print-secret", "--json"),
        ("--fail-rate", "2"),
        ("--exit-after", "0"),
        ("--save", "no/such/folder/f.jsonl"),
    ],
)
def test_conflicting_options_exit_with_2(
    api: FakeApi, time: FakeTime, tmp_path: Path, options: tuple[str, ...]
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("whsec_x")
    shell = Shell(tmp_path, api.url, time)
    done = shell("webhooks", "listen", *(str(secret) if word == "SECRET" else word for word in options))
    assert (done.code, done.out, api.requests) == (2, "", [])
