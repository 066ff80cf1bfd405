"""``docshare serve`` as shell users and scripts use it."""

import json
import os
import select
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
import requests

from tests.support.documents.pdfs import simple_pdf
from tests.support.people.reader import DESKTOP
from tests.support.people.share_page import parse_facts
from tests.support.polling import wait_until
from tests.support.ports import is_refused
from tests.support.servers.server_process import COMMAND, run_docshare, run_server, start_server


def stop_process(process: subprocess.Popen[str], number: int = signal.SIGTERM) -> tuple[int, str]:
    process.send_signal(number)
    rest, _ = process.communicate(timeout=30)
    return process.returncode, rest


def test_the_first_run_configures_the_client_in_another_terminal(env: dict[str, str], tmp_path: Path) -> None:
    process, url = start_server("--port", "0", env=env)
    try:
        (tmp_path / "report.pdf").write_bytes(simple_pdf(pages=3))
        uploaded = run_docshare("upload", str(tmp_path / "report.pdf"), env=env)
        account = json.loads(run_docshare("whoami", "--json", env=env).stdout)
    finally:
        code, rest = stop_process(process)
    assert uploaded.returncode == 0, uploaded.stderr
    assert uploaded.stdout.startswith(url + "/")
    assert len(uploaded.stdout.splitlines()) == 1
    assert account["tier"] == "pro"
    assert (code, rest) == (0, ""), "standard output gets exactly one line"


def test_a_second_run_on_another_port_reuses_the_data_of_the_first(env: dict[str, str], tmp_path: Path) -> None:
    process, _ = start_server("--port", "0", env=env)
    (tmp_path / "report.pdf").write_bytes(simple_pdf())
    run_docshare("upload", str(tmp_path / "report.pdf"), env=env)
    stop_process(process)
    process, url = start_server("--port", "0", env=env)
    try:
        listed = json.loads(run_docshare("files", "list", "--json", env=env).stdout)
    finally:
        stop_process(process)
    assert [row["originalName"] for row in listed] == ["report.pdf"]
    assert listed[0]["shareUrl"].startswith(url)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_server_cleanly(env: dict[str, str], number: int) -> None:
    process, url = start_server("--port", "0", env=env)
    assert requests.get(f"{url}/healthz", timeout=10).status_code == 200
    assert stop_process(process, number) == (0, "")


def test_a_stop_finishes_running_uploads(env: dict[str, str], tmp_path: Path) -> None:
    """SIGTERM and Ctrl-C stop accepting, finish running requests (10 s), and exit 0."""
    with run_server(tmp_path) as server:
        body = simple_pdf()
        boundary = "b0undary"
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="slow.pdf"\r\n\r\n'.encode()
        tail = f"\r\n--{boundary}--\r\n".encode()

        def send_slowly():  # type: ignore[no-untyped-def]
            yield head + body[:100]
            # A stop closes connections without a request.
            wait_until(lambda: list((server.data_dir / "tmp").glob("*.part")))
            server.process.send_signal(signal.SIGTERM)
            wait_until(lambda: is_refused("127.0.0.1", urlsplit(server.url).port or 0))
            yield body[100:] + tail

        answer = requests.post(
            f"{server.url}/api/v1/files",
            data=send_slowly(),
            headers=server.headers | {"Content-Type": f"multipart/form-data; boundary={boundary}"},
            timeout=20,
        )
        assert answer.status_code == 200, answer.text
        assert server.process.wait(20) == 0


def test_serve_with_files_prints_their_links(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(simple_pdf(pages=1))
    (tmp_path / "b.pdf").write_bytes(simple_pdf(pages=2))
    files = [str(tmp_path / "a.pdf"), str(tmp_path / "b.pdf")]
    process, url = start_server(*files, "--port", "0", env=env)
    assert process.stdout is not None
    links = [process.stdout.readline().strip() for _ in files]
    try:
        assert all(link.startswith(url + "/") for link in links)
        assert [requests.get(link, timeout=10).status_code for link in links] == [200, 200]
    finally:
        code, _ = stop_process(process)
    assert code == 0


def test_serve_with_files_prints_views_as_they_happen(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(simple_pdf(pages=1))
    words = (str(tmp_path / "a.pdf"), "--data", str(tmp_path / "own"), "--port", "0")
    process, _ = start_server(*words, env=env, errors=subprocess.PIPE)
    try:
        assert any("following view" in line for line in process.stderr)
        with closing(sqlite3.connect(tmp_path / "own" / "docshare.db", timeout=10)) as database, database:
            database.execute(
                "INSERT INTO view_rows (owner_id, file_id, read_at, country, pages_viewed, time_ms) "
                "SELECT owner_id, id, 1790000000000, 'DE', 1, 1000 FROM files"
            )
        link, view = (process.stdout.readline() for _ in range(2))
    finally:
        code, _ = stop_process(process)
    assert code == 0
    assert link.startswith("http")
    assert view.split("\t")[:1] + view.split("\t")[4:6] == ["view", "a.pdf", "DE"]


def test_a_document_that_is_served_again_has_the_same_link(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(simple_pdf(pages=1))
    paths = []
    for _ in range(2):
        process, url = start_server(str(tmp_path / "a.pdf"), "--port", "0", env=env)
        assert process.stdout is not None
        paths.append(process.stdout.readline().strip().removeprefix(url))
        stop_process(process)
    assert paths[0] == paths[1]


def test_a_second_server_is_rejected_but_uploads_its_files_to_the_first(env: dict[str, str], tmp_path: Path) -> None:
    """If a server already owns the directory, serve FILE uses it instead of failing."""
    (tmp_path / "a.pdf").write_bytes(simple_pdf(pages=1))
    first, url = start_server("--port", "0", env=env)
    try:
        refused = run_docshare("serve", "--port", "0", env=env)
        second, second_url = start_server(str(tmp_path / "a.pdf"), "--port", "0", env=env)
        assert second.stdout is not None
        link = second.stdout.readline().strip()
        stop_process(second)
        assert requests.get(link, timeout=10).status_code == 200
    finally:
        stop_process(first)
    assert (refused.returncode, refused.stdout) == (7, "")
    assert url in refused.stderr
    assert second_url == url


def test_the_demo_is_served_from_the_package(env: dict[str, str]) -> None:
    process, _ = start_server("--demo", "--port", "0", env=env)
    assert process.stdout is not None
    link = process.stdout.readline().strip()
    try:
        assert "docshare-tour" in requests.get(link, timeout=10).text
    finally:
        stop_process(process)


def test_the_demo_and_wait_both_report_the_view(env: dict[str, str]) -> None:
    """Run the first commands of the README; a reader closes the page after four seconds."""
    process, _ = start_server("--demo", "--port", "0", env=env)
    link = process.stdout.readline().strip()
    waiting = subprocess.Popen([*COMMAND, "wait", "@last", "--page", "3"], env=env, stdout=subprocess.PIPE, text=True)
    try:
        with requests.Session() as browser:
            browser.headers["User-Agent"] = DESKTOP
            facts = parse_facts(browser.get(link, timeout=10).text)
            time.sleep(4)
            report = {
                "token": facts["token"], "part": 0, "seq": 0, "ageMs": 4000, "visible": False, "visibleMs": 4000,
                "input": True, "turns": 2, "backTurns": 0, "closing": True,
                "pages": [{"page": 3, "ms": 4000, "views": 1, "back": 0}],
            }  # fmt: skip
            assert browser.post(urljoin(link, facts["beaconUrl"]), json=report, timeout=10).status_code == 204
        row = waiting.communicate(timeout=60)[0].split("\t")
        assert json.loads(row[-1]) == [{"page": 3, "timeMs": 4000}]
        assert select.select([process.stdout], [], [], 60)[0]
        assert process.stdout.readline().startswith("view\t")
    finally:
        waiting.kill()
        stop_process(process)


def test_exec_passes_the_server_to_a_command_and_returns_its_exit_code(env: dict[str, str], tmp_path: Path) -> None:
    script = (
        "import os, sys, urllib.request as web\n"
        "ask = web.Request(os.environ['DOCSHARE_URL'] + '/api/v1/user',"
        " headers={'Authorization': 'Bearer ' + os.environ['DOCSHARE_TOKEN']})\n"
        "assert web.urlopen(ask).status == 200\n"
        "assert sys.argv[1:] == ['--json', 'two words'], sys.argv\n"
        "sys.exit(5)\n"
    )
    done = run_docshare(
        "serve", "--ephemeral", "--port", "0", "--exec", sys.executable, "-c", script, "--json", "two words", env=env
    )
    assert done.returncode == 5, done.stderr
    assert not (tmp_path / "data").exists()
    assert not (tmp_path / "config" / "config.toml").exists(), "nothing of the user's is touched by --ephemeral"


def test_an_ephemeral_server_leaves_no_files_and_resolves_its_last_upload(env: dict[str, str], tmp_path: Path) -> None:
    report = tmp_path / "report.pdf"
    report.write_bytes(simple_pdf(pages=3))
    program = f"{sys.executable} -m docshare"
    script = (
        f"{program} upload {report} && {program} ls && {program} show @last --json && {program} trigger file.viewed"
    )
    done = run_docshare("serve", "--ephemeral", "--port", "0", "--exec", "sh", "-c", f"{script} --file @last", env=env)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["report.pdf"]


def test_the_last_upload_is_stored_for_each_server(env: dict[str, str], tmp_path: Path) -> None:
    report = tmp_path / "report.pdf"
    report.write_bytes(simple_pdf(pages=3))
    process, _ = start_server("--port", "0", env=env)
    try:
        link = run_docshare("upload", str(report), env=env).stdout.strip()
        run_docshare("serve", "--ephemeral", "--port", "0", "--exec", *COMMAND, "upload", str(report), env=env)
        shown = run_docshare("show", "@last", "--fields", "shareUrl", env=env)
    finally:
        stop_process(process)
    assert (shown.returncode, shown.stdout.strip()) == (0, link), shown.stderr
    process, url = start_server("--port", "0", env=env)  # at another port, which is another origin
    try:
        shown = run_docshare("show", "@last", "--fields", "shareUrl", env=env)
    finally:
        stop_process(process)
    assert shown.stdout.strip() == f"{url}/{link.rsplit('/', 1)[1]}"


def test_exec_of_an_unknown_program_is_a_usage_error(env: dict[str, str]) -> None:
    done = run_docshare("serve", "--ephemeral", "--port", "0", "--exec", "no-such-program-here", env=env)
    assert done.returncode == 2
    assert "no-such-program-here" in done.stderr


def test_the_ready_file_contains_the_base_url(env: dict[str, str], tmp_path: Path) -> None:
    process, url = start_server("--port", "0", "--ready-file", str(tmp_path / "ready"), env=env)
    stop_process(process)
    assert (tmp_path / "ready").read_text() == url + "\n"


def test_a_pipe_as_ready_file_is_written_and_not_replaced(env: dict[str, str], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ready")
    pipe = os.open(tmp_path / "ready", os.O_RDWR | os.O_NONBLOCK)
    try:
        process, url = start_server("--port", "0", "--ready-file", str(tmp_path / "ready"), env=env)
        stop_process(process)
        assert (tmp_path / "ready").is_fifo()
        assert os.read(pipe, 100).decode() == url + "\n"
    finally:
        os.close(pipe)


def test_serve_with_another_data_directory_does_not_change_the_profile(env: dict[str, str], tmp_path: Path) -> None:
    with (tmp_path / "errors").open("w") as errors:
        process, url = start_server("--data", str(tmp_path / "other"), "--port", "0", env=env, errors=errors)
        stop_process(process)
    assert not (tmp_path / "config" / "config.toml").exists()
    assert "ds_live_" in (tmp_path / "errors").read_text(), "the new owner's key is shown once"
    assert f"docshare profile add NAME --url {url} --with-token" in (tmp_path / "errors").read_text()
    assert stat.S_IMODE((tmp_path / "other").stat().st_mode) == 0o700


@pytest.mark.parametrize("host", ["' 127.0.0.1'", "127.0.0.1:80", "no-such-host.invalid"])
def test_a_host_that_is_not_an_address_exits_with_2(env: dict[str, str], tmp_path: Path, host: str) -> None:
    done = run_docshare("serve", "--port", "0", env={**env, "DOCSHARE_HOST": host})
    assert (done.returncode, "cannot listen on" in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "state" / "crash.log").exists()


def test_a_port_in_use_exits_with_7_without_a_traceback(env: dict[str, str]) -> None:
    process, url = start_server("--port", "0", env=env)
    try:
        done = run_docshare("serve", "--ephemeral", "--port", url.rsplit(":", 1)[1], env=env)
    finally:
        stop_process(process)
    assert (done.returncode, done.stdout) == (7, "")
    assert "--port 0" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_setting_prevents_the_start_and_is_named(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "config.toml").write_text("rate_limits = 5\n")
    done = run_docshare("serve", "--port", "0", env=env)
    assert (done.returncode, done.stdout) == (2, "")
    assert "rate_limits" in done.stderr


def test_the_log_contains_no_link_and_no_secret(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(simple_pdf(pages=1))
    with (tmp_path / "log").open("w") as errors:
        process, url = start_server("--port", "0", "--log", "json", env=env, errors=errors)
        link = run_docshare("upload", str(tmp_path / "a.pdf"), env=env).stdout.strip()
        requests.get(link, timeout=10)
        requests.get(f"{url}/api/v1/files", headers={"Authorization": "Bearer ds_live_wrongwrongwrong"}, timeout=10)
        stop_process(process)
    log = (tmp_path / "log").read_text()
    lines = [json.loads(line) for line in log.splitlines()]
    asked = [line for line in lines if line["message"] == "request"]
    assert {line["status"] for line in asked} >= {200, 401}
    assert {line["client"] for line in asked} == {"127.0.0.1"}
    assert len({line["account"] for line in asked if line["status"] == 200 and "account" in line}) == 1
    messages = [line["message"] for line in lines]
    assert [word for word in messages if word in ("started", "stopped")] == ["started", "stopped"]
    assert any("first run" in word for word in messages)
    assert link.rsplit("/", 1)[1] not in log
    assert "ds_live_" not in log


def test_every_line_of_a_json_log_is_json(env: dict[str, str], tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as errors:
        line = ("--data", str(tmp_path / "other"), "--host", "0.0.0.0", "--port", "0", "--log", "json", "--dev")
        process, _ = start_server(*line, env=env, errors=errors)
        stop_process(process)
    log = (tmp_path / "log").read_text()
    lines = [json.loads(each) for each in log.splitlines()]
    assert [each["level"] for each in lines if "TLS" in each["message"]] == ["warning"]
    assert "ds_live_" not in log
    done = run_docshare("serve", "--ephemeral", "--port", "0", "--log", "json", "--exec", "true", env=env)
    messages = [json.loads(each)["message"] for each in done.stderr.splitlines()]
    assert [word for word in messages if word in ("started", "stopped")] == ["started", "stopped"]
    refused = run_docshare("serve", "--log=json", "--data", "/dev/null", env=env)
    assert (refused.returncode, json.loads(refused.stderr)["error"]["exit"]) == (2, 2)


def test_a_server_runs_with_closed_standard_streams(env: dict[str, str], tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    script = f"{' '.join(COMMAND)} serve --port 0 --ready-file {ready} >&- 2>&- <&- & echo $!"
    pid = int(subprocess.run(["sh", "-c", script], env=env, capture_output=True, text=True, check=True).stdout)
    try:
        wait_until(ready.exists, seconds=60)
        assert requests.get(ready.read_text().strip() + "/healthz", timeout=10).status_code == 200
    finally:
        subprocess.run(["kill", str(pid)], check=True)


def test_exec_without_a_command_is_a_usage_error(env: dict[str, str]) -> None:
    done = run_docshare("serve", "--ephemeral", "--port", "0", "--exec", env=env)
    assert (done.returncode, done.stdout) == (2, "")


def test_a_file_that_is_not_a_document_is_rejected_before_the_server_starts(
    env: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "fake.pdf").write_bytes(b"no document at all")
    done = run_docshare("serve", str(tmp_path / "fake.pdf"), "--port", "0", env=env)
    assert (done.returncode, done.stdout) == (2, "")
    assert "fake.pdf" in done.stderr


def test_options_override_address_and_port_from_the_environment(env: dict[str, str]) -> None:
    env |= {"DOCSHARE_HOST": "127.0.0.2", "DOCSHARE_PORT": "0"}
    for words, host in (((), "127.0.0.2"), (("--host", "127.0.0.3"), "127.0.0.3")):
        server, url = start_server(*words, env=env)
        server.terminate()
        server.communicate(timeout=30)
        assert url.startswith(f"http://{host}:")
    for port in ("65536", "-1", "x"):
        done = run_docshare("serve", env=env | {"DOCSHARE_PORT": port})
        assert (done.returncode, "DOCSHARE_PORT: expected a port" in done.stderr) == (2, True)
