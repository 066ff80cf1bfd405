"""Which server ``docshare webhooks listen`` listens to, and what it does while that one is away."""

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
from tests.support.fakefeed import FakeApi, FakeTime
from tests.support.listening import Attending, listener, replace, uploaded
from tests.support.served import COMMAND, Served, docshare, home, served, start
from tests.support.shell import Shell
from tests.support.waiting import eventually


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "server", DOCSHARE_RATE_LIMIT="1000000") as server:
        yield server


@pytest.fixture
def shell(server: Served, time: FakeTime, tmp_path: Path) -> Shell:
    shell = Shell(tmp_path, server.url, time)
    shell.env["DOCSHARE_TOKEN"] = server.token
    return shell


def uuids(server: Served) -> list[str]:
    query = "SELECT uuid FROM webhooks WHERE listens_until IS NOT NULL"
    with closing(sqlite3.connect(f"file:{server.data_dir / 'docshare.db'}?mode=ro", uri=True)) as database:
        return [uuid for (uuid,) in database.execute(query)]


def registered(server: Served, attending: Attending) -> str:
    """The UUID of the one listener, as soon as it is ready."""
    eventually(lambda: uuids(server), seconds=60)
    eventually(lambda: "ready: " in attending.said, seconds=60)
    return uuids(server)[0]


# --- which server ----------------------------------------------------------------------------------------------------


def environments(server: Served, folder: Path) -> dict[str, dict[str, str]]:
    data = {"DOCSHARE_DATA_DIR": str(server.data_dir)}
    return {
        "nothing is set up": home(folder) | data,
        "its address": home(folder, DOCSHARE_URL=server.url, DOCSHARE_TOKEN=server.token) | data,
        "elsewhere, and --data": home(folder, DOCSHARE_URL="https://docs.example"),
    }


@pytest.mark.parametrize("case", ["nothing is set up", "its address", "elsewhere, and --data"])
def test_the_server_on_this_machine_is_listened_to_directly(server: Served, tmp_path: Path, case: str) -> None:
    options = ("--data", str(server.data_dir)) if case == "elsewhere, and --data" else ()
    with listener(environments(server, tmp_path)[case], *options) as running:
        assert running.until(f"listening to the server on this machine ({server.data_dir}) as owner@example.com")
        assert running.until("ready: deliveries arrive at http://127.0.0.1:")


def test_the_profile_local_means_the_server_on_this_machine(server: Served, tmp_path: Path) -> None:
    env = home(tmp_path) | {"DOCSHARE_DATA_DIR": str(server.data_dir)}
    line = [*COMMAND, "profile", "add", "local", "--url", server.url, "--with-token"]
    done = subprocess.run(line, env=env, input=server.token, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with listener(env) as running:
        assert running.until("listening to the server on this machine")


def test_a_server_elsewhere_is_bridged(api: FakeApi, shell: Shell, server: Served) -> None:
    shell.env |= {"DOCSHARE_URL": api.url, "DOCSHARE_DATA_DIR": str(server.data_dir)}
    done = shell("webhooks", "listen", "--timeout", "10s")
    assert (done.code, f"bridging the feed of {api.url}" in done.err) == (0, True)


def test_even_the_one_on_this_machine_can_be_bridged(server: Served, shell: Shell) -> None:
    shell.env["DOCSHARE_DATA_DIR"] = str(server.data_dir)
    done = shell("webhooks", "listen", "--bridge", "--timeout", "10s")
    assert (done.code, f"bridging the feed of {server.url}" in done.err) == (0, True)


# --- when it is not there --------------------------------------------------------------------------------------------


def test_without_a_server_it_says_what_to_start(tmp_path: Path, time: FakeTime) -> None:
    shell = Shell(tmp_path, "", time)
    del shell.env["DOCSHARE_URL"]
    done = shell("webhooks", "listen", "--json")
    assert (done.code, done.out) == (11, "")
    assert done.error["detail"] == f"no docshare server runs on {tmp_path / 'data'}"
    assert done.error["hint"] == "Start it: docshare serve"


def test_a_server_that_was_stopped_does_not_count(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        env = home(tmp_path)
    assert docshare("webhooks", "listen", "--data", str(server.data_dir), env=env).returncode == 11


def test_a_server_that_goes_away_for_long_ends_it_loudly(server: Served, shell: Shell) -> None:
    attending = Attending(shell, "--data", str(server.data_dir), "--give-up-after", "1m")
    registered(server, attending)
    server.process.send_signal(signal.SIGKILL)
    server.process.wait()
    done = attending.over()
    assert done.code == 11
    assert "cannot be reached; trying again" in done.err
    assert "gave up after" in done.err


def test_a_server_that_comes_back_elsewhere_is_found_again(server: Served, shell: Shell, tmp_path: Path) -> None:
    attending = Attending(shell, "--data", str(server.data_dir), "--give-up-after", "1000h", "--exit-after", "1")
    registered(server, attending)
    server.process.terminate()
    server.process.wait()
    eventually(lambda: attending.passing(11) or "cannot be reached" in attending.said, seconds=60)
    process, url = start("--data", str(server.data_dir), "--port", "0", env=home(tmp_path / "server"))
    try:
        moved = dataclasses.replace(server, url=url)
        eventually(lambda: attending.passing(11) or "answers again" in attending.said, seconds=60)
        replace(moved, uploaded(moved))
        attending.join(60)
        assert attending.ended is not None
        assert attending.ended.code == 0
        assert attending.ended.out.split("\t")[1:4] == ["content.replaced", "next.pdf", "true"]
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_a_listener_that_was_forgotten_begins_anew_with_the_same_secret_and_says_so(
    server: Served, shell: Shell
) -> None:
    attending = Attending(shell, "--data", str(server.data_dir), "--exit-after", "1")
    first = registered(server, attending)
    RunningServer(server.data_dir).tell("listen stop", {"uuid": first})
    eventually(lambda: attending.passing(11) or uuids(server), seconds=60)
    replace(server, uploaded(server))
    attending.join(60)
    assert attending.ended is not None
    assert attending.ended.code == 0
    assert attending.ended.out.split("\t")[3] == "true"
    assert attending.ended.err.count("was not delivered") == 1


def test_a_quiet_listener_shows_that_it_is_alive(server: Served, shell: Shell) -> None:
    attending = Attending(shell, "--data", str(server.data_dir), "--timeout", "10m")
    registered(server, attending)
    done = attending.over()
    assert done.code == 0
    assert "still listening; 0 deliveries so far" in done.err


# --- what does not go together ---------------------------------------------------------------------------------------


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
def test_what_does_not_go_together_is_wrong_usage(
    api: FakeApi, time: FakeTime, tmp_path: Path, options: tuple[str, ...]
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("whsec_x")
    shell = Shell(tmp_path, api.url, time)
    done = shell("webhooks", "listen", *(str(secret) if word == "SECRET" else word for word in options))
    assert (done.code, done.out, api.heard) == (2, "", [])
