"""``docshare serve --workers``: several processes on one port and one database."""

import json
import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.postgresql import open_database
from tests.support.polling import wait_until
from tests.support.ports import is_refused
from tests.support.servers.server_process import ServerProcess, make_env, run_docshare, run_server, start_server


@pytest.fixture
def address() -> Iterator[str]:
    """Yield the address of an empty database."""
    with open_database("workers") as address:
        yield address


@contextmanager
def run_two_workers(folder: Path, address: str) -> Iterator[ServerProcess]:
    with run_server(folder, "--workers", "2", DOCSHARE_DATABASE_URL=address, DOCSHARE_INSTANCE_NAME="east") as server:
        yield server


def list_workers(server: ServerProcess) -> set[int]:
    """Return the ids of the processes whose parent is ``server``."""
    tasks = Path(f"/proc/{server.process.pid}/task").glob("*/children")  # of the thread that started them
    children = [pid for task in tasks for pid in map(int, task.read_text().split())]
    found = set()
    for pid in children:
        with suppress(ProcessLookupError, FileNotFoundError):  # it has just ended
            if b"worker_process" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.add(pid)
    return found


def find_instances(server: ServerProcess) -> set[str]:
    """Return the instance names that respond to 40 new connections."""
    return {requests.get(f"{server.url}/healthz?details", timeout=10).json()["instance"] for _ in range(40)}


def test_two_processes_serve_one_instance(address: str, tmp_path: Path) -> None:
    (tmp_path / "report.pdf").write_bytes(simple_pdf(pages=2))
    with run_two_workers(tmp_path, address) as server:
        wait_until(lambda: find_instances(server) == {"east.1", "east.2"})
        env = make_env(tmp_path, DOCSHARE_URL=server.url, DOCSHARE_TOKEN=server.token)
        sent = run_docshare("upload", str(tmp_path / "report.pdf"), "--json", env=env)
        assert sent.returncode == 0, sent.stderr
        file = json.loads(sent.stdout)
        # Each request has a separate connection, and every process can read the document.
        answers = {requests.get(f"{file['shareUrl']}", timeout=10).status_code for _ in range(10)}
        assert answers == {200}
        admin = make_env(tmp_path, DOCSHARE_DATABASE_URL=address, DOCSHARE_WORKERS="2")
        assert requests.get(f"{server.url}/api/v1/user", headers=server.headers, timeout=10).status_code == 200
        keys = json.loads(run_docshare("admin", "key", "list", "owner@example.com", "--json", env=admin).stdout)
        assert len(keys) == 1
        gone = run_docshare("admin", "key", "revoke", keys[0]["uuid"], "--yes", env=admin)
        assert gone.returncode == 0, gone.stderr
        for _ in range(20):
            answer = requests.get(f"{server.url}/api/v1/user", headers=server.headers, timeout=10)
            assert answer.status_code == 401


def test_a_killed_process_is_replaced_and_sighup_restarts_all_without_failed_requests(
    address: str, tmp_path: Path
) -> None:
    with run_two_workers(tmp_path, address) as server:
        first = list_workers(server)
        assert len(first) == 2
        os.kill(min(first), signal.SIGKILL)
        wait_until(lambda: len(list_workers(server) - {min(first)}) == 2, seconds=120)
        wait_until(lambda: find_instances(server) == {"east.1", "east.2"}, seconds=120)
        second = list_workers(server)

        failures: list[object] = []
        is_over = threading.Event()

        def ask() -> None:
            while not is_over.is_set():
                try:
                    answer = requests.get(f"{server.url}/healthz", timeout=10)
                except requests.RequestException as error:
                    failures.append(error)
                else:
                    if answer.status_code != 200:
                        failures.append(answer.status_code)

        reader = threading.Thread(target=ask)
        reader.start()
        try:
            server.process.send_signal(signal.SIGHUP)
            # The two restart one after the other, which takes time on a busy machine.
            wait_until(
                lambda: len(list_workers(server) - second) == 2 and not list_workers(server) & second, seconds=120
            )
        finally:
            is_over.set()
            reader.join()
        assert failures == []
        assert find_instances(server) <= {"east.1", "east.2"}
        last = list_workers(server)
    assert server.process.returncode == 0
    assert not any(Path(f"/proc/{pid}").exists() for pid in last)


def test_sighup_loses_no_upload_in_flight(address: str, tmp_path: Path) -> None:
    """The uploads are still running when their process gets the signal to stop, and end within the time it waits."""
    answers: dict[str, object] = {}
    is_over = threading.Event()

    def send_slowly(name: str) -> Iterator[bytes]:
        part = f'Content-Disposition: form-data; name="file"; filename="{name}"\r\nContent-Type: application/pdf'
        body = f"--edge\r\n{part}\r\n\r\n".encode() + simple_pdf(pages=1) + b"\r\n--edge--\r\n"
        step = len(body) // 8 + 1
        for begin in range(0, len(body), step):
            yield body[begin : begin + step]
            time.sleep(0.3)

    def upload_until_over(number: int) -> None:
        headers = server.headers | {"Content-Type": "multipart/form-data; boundary=edge"}
        for count in range(1000):
            if is_over.is_set():
                return
            name = f"{number}-{count}.pdf"
            try:
                sent = requests.post(f"{server.url}/api/v1/files", headers=headers, data=send_slowly(name), timeout=60)
                answers[name] = sent.status_code
            except requests.RequestException as error:
                answers[name] = error

    with run_two_workers(tmp_path, address) as server:
        first = list_workers(server)
        senders = [threading.Thread(target=upload_until_over, args=(number,)) for number in range(6)]
        for sender in senders:
            sender.start()
        try:
            server.process.send_signal(signal.SIGHUP)
            wait_until(lambda: len(list_workers(server) - first) == 2 and not list_workers(server) & first, seconds=120)
        finally:
            is_over.set()
            for sender in senders:
                sender.join()
        assert set(answers.values()) == {200}, answers
        listed = requests.get(f"{server.url}/api/v1/files", headers=server.headers, timeout=60).json()
        assert sorted(file["originalName"] for file in listed) == sorted(answers)


def test_sighup_with_invalid_settings_keeps_the_processes_and_logs_the_reason(address: str, tmp_path: Path) -> None:
    env = make_env(tmp_path, DOCSHARE_DATABASE_URL=address)
    with (tmp_path / "log").open("w") as log:
        process, url = start_server("--port", "0", "--workers", "2", "--log", "json", env=env, errors=log)
    try:
        (tmp_path / "data" / "config.toml").write_text("rate_limit = 'many'\n")
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: "the old ones continue" in (tmp_path / "log").read_text(), seconds=120)
        assert {requests.get(f"{url}/healthz", timeout=30).status_code for _ in range(10)} == {200}
    finally:
        process.terminate()
        process.communicate(timeout=60)
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    (reason,) = [line["reason"] for line in lines if line["message"] == "a worker process cannot start"]
    assert "config.toml: rate_limit: expected a whole number" in reason


def test_a_stop_refuses_connections_while_a_request_is_running(address: str, tmp_path: Path) -> None:
    """A proxy then chooses another instance; a connection in the queue of the socket would be reset at the end."""
    running, finish = threading.Event(), threading.Event()
    part = 'Content-Disposition: form-data; name="file"; filename="a.pdf"\r\nContent-Type: application/pdf'

    def send() -> Iterator[bytes]:
        yield f"--edge\r\n{part}\r\n\r\n".encode()
        running.set()
        finish.wait(60)
        yield simple_pdf(pages=1) + b"\r\n--edge--\r\n"

    def upload() -> int:
        headers = server.headers | {"Content-Type": "multipart/form-data; boundary=edge"}
        return requests.post(f"{server.url}/api/v1/files", headers=headers, data=send(), timeout=60).status_code

    with run_two_workers(tmp_path, address) as server, ThreadPoolExecutor(1) as pool:
        status = pool.submit(upload)
        assert running.wait(60)
        wait_until(lambda: list((server.data_dir / "tmp").glob("*.part")))
        server.process.terminate()
        place = urlsplit(server.url)
        wait_until(lambda: is_refused(str(place.hostname), place.port or 0))
        assert server.process.poll() is None
        finish.set()
        assert status.result() == 200
        assert server.process.wait(30) == 0


def test_worker_processes_end_with_their_parent(address: str, tmp_path: Path) -> None:
    with run_two_workers(tmp_path, address) as server:
        workers = list_workers(server)
        server.process.kill()
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))


def test_several_processes_require_a_shared_database(tmp_path: Path) -> None:
    done = run_docshare("serve", "--workers", "2", env=make_env(tmp_path))
    assert done.returncode == 2
    assert "SQLite serves one process" in done.stderr
    assert "DOCSHARE_DATABASE_URL" in done.stderr


def test_an_admin_command_works_while_the_server_does_not_respond(address: str, tmp_path: Path) -> None:
    with run_two_workers(tmp_path, address) as server:
        stopped = [server.process.pid, *list_workers(server)]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        try:
            env = make_env(tmp_path, DOCSHARE_DATABASE_URL=address)
            listed = run_docshare("admin", "account", "list", "--json", env=env)
            assert listed.returncode == 0, listed.stderr
            assert [row["email"] for row in json.loads(listed.stdout)] == ["owner@example.com"]
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)


def test_any_worker_reports_the_requests_of_all(address: str, tmp_path: Path) -> None:
    """Prometheus reaches any one of the workers, and a counter must never decrease."""
    with run_two_workers(tmp_path, address) as server:
        for _ in range(20):
            with requests.Session() as fresh:  # a new connection, which either worker may accept
                assert fresh.get(f"{server.url}/api/v1/files", headers=server.headers, timeout=30).status_code == 200
        wait_until(lambda: count_requests(server) == 20)
        assert {count_requests(server) for _ in range(10)} == {20}


def count_requests(server: ServerProcess) -> int:
    """Return the number of file lists that all workers have served, as one worker reports it."""
    text = requests.get(f"{server.url}/metrics", timeout=30).text
    pattern = r'docshare_http_requests_total\{method="GET",route="/api/v1/files",status="200",worker="(\d)"\} (\d+)'
    found = re.findall(pattern, text)
    assert len({worker for worker, _ in found}) == len(found), "a series is written more than once"
    assert text.count("# TYPE docshare_http_requests_total counter") == 1
    assert text.count("\ndocshare_database_bytes ") == 1, "instance-wide metrics must not be written per worker"
    return sum(int(count) for _, count in found)
