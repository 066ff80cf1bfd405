"""``docshare webhooks listen``: verification of deliveries, the secret, output and saved events."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import requests

from tests.support.outside.import_source import http_response
from tests.support.outside.receivers import open_receiver
from tests.support.outside.webhook_listener import Listen, post_delivery, replace_content
from tests.support.servers.server_process import COMMAND, ServerProcess, run_docshare
from tests.support.terminal import Terminal

# --- unverified deliveries -------------------------------------------------------------------------------------------


def test_unsigned_deliveries_are_not_forwarded(listen: Listen) -> None:
    with open_receiver() as program, listen("--forward-to", program.url, "--json", "--exit-after", "1") as running:
        url = running.url
        assert requests.post(url, data=b'{"event":"file.viewed"}', timeout=30).status_code == 401
        assert post_delivery(url, "whsec_guessed", b'{"event":"file.viewed"}') == 401
        rows = [running.read_row(), running.read_row()]
        assert [row["verified"] for row in rows] == [False, False]
        assert rows[0]["flaw"] == "The delivery has no signature."
        assert rows[1]["flaw"].startswith("The signature does not match")
        assert program.requests == []
        assert post_delivery(url, running.last_secret, b'{"event":"file.viewed"}') == 200
        assert running.wait() == 0, "only what is genuine counts"
    assert len(program.requests) == 1


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"[" * 5000, b"[1]", b'{"event": ["x"], "data": 7}'])
def test_a_malformed_body_with_a_valid_signature_is_printed_and_forwarded_unchanged(
    listen: Listen, body: bytes
) -> None:
    with open_receiver() as program, listen("--forward-to", program.url, "--json") as running:
        assert post_delivery(running.url, running.last_secret, body, Webhook_Event="odd") == 200
        assert running.read_row()["verified"] is True
    assert program.requests[0].body == body


def test_a_retry_is_printed_with_its_attempt_number(listen: Listen, env: dict[str, str], server: ServerProcess) -> None:
    with listen("--json") as running:
        assert post_delivery(running.url, running.last_secret, b'{"event":"file.viewed"}', Webhook_Attempt="2") == 200
        assert running.read_row()["attempt"] == 2


@pytest.mark.parametrize(("method", "status"), [("GET", 405), ("PUT", 405), ("HEAD", 405)])
def test_only_post_requests_are_accepted(listen: Listen, method: str, status: int) -> None:
    with listen() as running:
        assert requests.request(method, running.url, timeout=30).status_code == status


def test_a_body_without_length_or_too_large_is_rejected(listen: Listen) -> None:
    with listen() as running:
        url = running.url
        assert requests.post(url, data=iter([b"x"]), timeout=30).status_code == 411
        assert requests.post(url, data=b"", headers={"Content-Length": "9999999"}, timeout=30).status_code == 413


# --- the secret ------------------------------------------------------------------------------------------------------


def test_print_secret_prints_only_the_secret_on_stdout(server: ServerProcess, listen: Listen, deck: str) -> None:
    with listen("--print-secret", "--exit-after", "1") as running:
        secret = running.read_line()
        assert post_delivery(running.url, secret, b'{"event":"file.viewed"}') == 200
        assert running.wait() == 0
        assert running.read_remaining() == []
        assert secret not in running.read_stderr()
        assert "file.viewed" in running.read_stderr()


def test_a_secret_from_a_file_signs_and_is_never_printed(
    server: ServerProcess, listen: Listen, deck: str, tmp_path: Path
) -> None:
    kept = tmp_path / "secret.txt"
    kept.write_text("whsec_" + "5e" * 32 + "\n")
    with listen("--secret-file", str(kept), "--json", "--exit-after", "1") as running:
        running.wait_for_line("ready")
        replace_content(server, deck)
        assert running.read_row()["verified"] is True
        assert running.wait() == 0
        assert "5e5e" not in running.read_stderr()


# --- saved events and output -----------------------------------------------------------------------------------------


def test_saved_deliveries_can_be_replayed(
    server: ServerProcess, env: dict[str, str], listen: Listen, deck: str, tmp_path: Path
) -> None:
    saved, secret = tmp_path / "kept.jsonl", tmp_path / "secret.txt"
    with listen("--save", str(saved), "--json", "--exit-after", "2") as running:
        running.wait_for_line("ready")
        replace_content(server, deck)
        replace_content(server, deck)
        rows = [running.read_row(), running.read_row()]
        assert running.wait() == 0
    assert [json.loads(line) for line in saved.read_text().splitlines()] == rows
    assert saved.stat().st_mode & 0o777 == 0o600
    secret.write_text(running.last_secret)
    with open_receiver() as program:
        done = run_docshare(
            "webhooks", "replay", str(saved), "--to", program.url, "--secret-file", str(secret), env=env
        )
        assert done.returncode == 0, done.stderr
        assert [hit.body.decode() for hit in program.requests] == [row["body"] for row in rows]


def test_the_response_of_a_program_can_be_printed(server: ServerProcess, listen: Listen, deck: str) -> None:
    words = http_response(b"no such\x1b[2J route", "404 Not Found")
    with open_receiver(words) as program, listen("--forward-to", program.url, "--show-response", "--json") as running:
        running.wait_for_line("ready")
        replace_content(server, deck)
        assert running.read_row()["forwards"][0]["response"] == "no such\x1b[2J route"


def test_a_terminal_shows_deliveries_and_responses_with_arrows(
    server: ServerProcess, env: dict[str, str], deck: str
) -> None:
    with open_receiver(http_response(b"two\nlines \x1b[2J", "500 Broken")) as program:
        line = [*COMMAND, "webhooks", "listen", "--data", str(server.data_dir), "--show-response"]
        with Terminal([*line, "--forward-to", program.url, "--exit-after", "1"], env, columns=200) as terminal:
            terminal.wait_for_text("ready")
            replace_content(server, deck)
            screen = terminal.wait_for_exit()
    shown = screen.text.splitlines()[-4:]
    clock, arrow, kind, name = shown[0].split()
    assert (len(clock), arrow, kind, name) == (8, "->", "content.replaced", "next.pdf")
    assert shown[1].split()[:2] == ["<-", "500"]
    assert shown[1].endswith(f"ms {program.url}")
    assert [line.strip() for line in shown[2:]] == ["two", "lines \\x1b[2J"]


def test_the_listener_is_not_in_the_list_of_webhooks(server: ServerProcess, listen: Listen) -> None:
    with listen() as running:
        running.wait_for_line("ready")
        answer = requests.get(f"{server.url}/api/v1/webhooks", headers=server.headers, timeout=30)
        assert answer.json() == {"webhooks": []}
