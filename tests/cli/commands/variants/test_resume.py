"""``variants create --from-csv`` against a real server, with kills and lost responses: it creates no duplicates."""

from __future__ import annotations

import csv
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.documents.pdfs import simple_pdf
from tests.support.polling import wait_until
from tests.support.servers.lossy_proxy import LossyProxy, lossy_proxy
from tests.support.servers.server_process import COMMAND, ServerProcess, make_env, run_docshare, run_server

FILES, ROWS = 5, 200
# The server has acted or is about to when the program is killed; there are long stretches without a kill in between.
KILLED_BEFORE_THE_SERVER_ACTS = {1, 150, 420, 777}
KILLED_AFTER_THE_SERVER_ACTED = {40, 41, 260, 555, 900}
KILLED_AFTER_THE_RESPONSE = {80, 333, 690}
LOST_RESPONSES = set(range(7, FILES * ROWS, 29))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with run_server(tmp_path_factory.mktemp("server"), DOCSHARE_RATE_LIMIT="1000000") as server:
        yield server


@pytest.fixture
def proxy(server: ServerProcess) -> Iterator[LossyProxy]:
    with lossy_proxy(server.url) as proxy:
        proxy.counts = lambda method, path: method == "POST" and path.endswith("/variants")
        yield proxy


@pytest.fixture
def env(server: ServerProcess, proxy: LossyProxy, tmp_path: Path) -> dict[str, str]:
    return make_env(tmp_path, DOCSHARE_URL=proxy.url, DOCSHARE_TOKEN=server.token)


def upload_file(server: ServerProcess) -> str:
    """Upload a file to the server and return its UUID."""
    answer = requests.post(
        f"{server.url}/api/v1/files", headers=server.headers, files={"file": ("a.pdf", simple_pdf(pages=3))}, timeout=30
    )
    return str(answer.json()["uuid"])


def list_variants(server: ServerProcess, file: str) -> list[dict[str, Any]]:
    answer = requests.get(f"{server.url}/api/v1/files/{file}/variants", headers=server.headers, timeout=30)
    rows: list[dict[str, Any]] = answer.json()["variants"]
    return rows


def write_recipients(path: Path, prefix: str, count: int) -> Path:
    """Write a CSV file of so many recipients; every other one may not download."""
    rows = [f"{prefix} {n:03},{'no' if n % 2 else ''},table {n}" for n in range(count)]
    path.write_text("label,allowDownload,seat\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def read_result(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class KillableCommand:
    """Runs one command repeatedly until it exits by itself; ``kill`` stops it at once.

    The server has handled the request of a killed command, which ``proxy`` forwards, before the next one starts:
    otherwise the next one could not find what that request creates.
    """

    def __init__(self, env: dict[str, str], proxy: LossyProxy) -> None:
        self._env = env
        self._proxy = proxy
        self.kills = 0
        self.process: subprocess.Popen[str] | None = None

    def kill(self) -> None:
        wait_until(lambda: self.process is not None)  # it may send a request before its start is noted here
        process = self.process  # by the time it has exited this may be the next one
        assert process is not None
        process.kill()
        process.wait(30)
        self.kills += 1

    def run(self, *line: str | Path) -> str:
        """Return its standard error once it exits with 0."""
        while True:
            self.process = None
            wait_until(lambda: not self._proxy.pending)
            with subprocess.Popen(
                [*COMMAND, *map(str, line)],
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            ) as self.process:
                _, err = self.process.communicate(timeout=120)
            if self.process.returncode != -9:
                assert self.process.returncode == 0, err
                return err


def assert_no_duplicates(server: ServerProcess, file: str, out: Path, labels: list[str]) -> None:
    rows = list_variants(server, file)
    assert sorted(row["label"] for row in rows) == labels
    told = read_result(out)
    assert [row["label"] for row in told] == labels
    assert {row["label"]: row["uuid"] for row in told} == {row["label"]: row["uuid"] for row in rows}
    assert {row["status"] for row in told} <= {"created", "recovered"}
    assert {row["error"] for row in told} == {""}
    assert all(row["seat"] == f"table {n}" for n, row in enumerate(told))
    allowed = {row["label"]: row["overrides"] for row in rows}
    assert all(allowed[label] == ({"allowDownload": False} if n % 2 else {}) for n, label in enumerate(labels))


@pytest.mark.timeout(300)
def test_a_thousand_links_of_five_files_survive_kills_and_lost_responses_without_duplicates(
    server: ServerProcess, proxy: LossyProxy, env: dict[str, str], tmp_path: Path
) -> None:
    victim = KillableCommand(env, proxy)

    def kill_before(n: int) -> None:
        if n in KILLED_BEFORE_THE_SERVER_ACTS or n - 1 in KILLED_AFTER_THE_RESPONSE:
            victim.kill()

    def kill_after(n: int) -> None:
        if n in KILLED_AFTER_THE_SERVER_ACTED:
            victim.kill()

    proxy.before, proxy.after, proxy.loses = kill_before, kill_after, lambda n: n in LOST_RESPONSES
    files = [upload_file(server) for _ in range(FILES)]
    for number, file in enumerate(files):
        source, out = (
            write_recipients(tmp_path / f"{number}.csv", f"Guest {number}", ROWS),
            tmp_path / f"{number}-links.csv",
        )
        codes = ["--qr", tmp_path / "codes"] if number == 0 else []
        victim.run("variants", "create", file, "--from-csv", source, "--out", out, *codes)
        assert_no_duplicates(server, file, out, [f"Guest {number} {n:03}" for n in range(ROWS)])
    assert victim.kills >= 12
    assert proxy.lost >= 30
    assert proxy.seen == FILES * ROWS  # nothing was sent twice
    pictures = sorted((tmp_path / "codes").iterdir())
    assert len(pictures) == ROWS
    wanted = {row["qr"]: row["url"] for row in read_result(tmp_path / "0-links.csv")}
    assert {Path(path) for path in wanted} == set(pictures)
    read = subprocess.run(["zbarimg", "-q", "--raw", *pictures[:3]], capture_output=True, text=True, check=True)
    assert read.stdout.splitlines() == [f"{wanted[str(path)]}?via=qr" for path in pictures[:3]]


def test_a_single_link_whose_response_is_lost_is_found_in_the_list(
    server: ServerProcess, proxy: LossyProxy, env: dict[str, str]
) -> None:
    file = upload_file(server)
    proxy.loses = lambda n: True
    done = run_docshare("variants", "create", file, "--label", "Ann", "--pages", "1-2", env=env)
    (ann,) = list_variants(server, file)
    assert (done.returncode, done.stdout) == (0, f"Ann\t{ann['url']}\n")
    assert "the response was lost" in done.stderr
    assert proxy.seen == 1


def test_ctrl_c_leaves_a_result_that_records_the_progress(
    server: ServerProcess, proxy: LossyProxy, env: dict[str, str], tmp_path: Path
) -> None:
    file, out = upload_file(server), tmp_path / "links.csv"
    source = write_recipients(tmp_path / "guests.csv", "Guest", 6)
    victim = KillableCommand(env, proxy)
    line = ("variants", "create", file, "--from-csv", str(source), "--out", str(out))

    def interrupt(n: int) -> None:
        if n == 3:
            assert victim.process is not None
            victim.process.send_signal(signal.SIGINT)
            victim.process.wait(30)

    proxy.after = interrupt
    with subprocess.Popen([*COMMAND, *line], env=env, stdout=-1, stderr=-1, text=True) as victim.process:
        shown, err = victim.process.communicate(timeout=30)
    assert victim.process.returncode == 130
    assert "run the same command again to continue" in err
    assert [line.split("\t")[0] for line in shown.splitlines()] == ["Guest 000", "Guest 001"]
    assert [row["status"] for row in read_result(out)][:2] == ["created", "created"]
    assert read_result(out)[2]["status"] in ("sending", "created")  # the row in progress
    assert {row["status"] for row in read_result(out)[3:]} == {"pending"}
    victim.run(*line)
    assert_no_duplicates(server, file, out, [f"Guest {n:03}" for n in range(6)])
