"""Mail servers that hang, are down, or are not configured: no request waits, and unsent email can be read."""

from __future__ import annotations

import json
import socket
import time
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.documents.pdfs import simple_pdf
from tests.support.outside.mail_server import FakeMailServer, read_part
from tests.support.polling import wait_until
from tests.support.servers.server_process import ServerProcess, make_env, run_docshare, run_server

TIMEOUT_S = 30  # seconds until the server disconnects from a mail server that responds too slowly


def upload_document(server: ServerProcess) -> str:
    upload = {"file": ("Größe – Q3.pdf", simple_pdf(pages=1))}
    made = requests.post(f"{server.url}/api/v1/files", headers=server.headers, files=upload, timeout=30).json()
    return str(made["uuid"])


def invite(server: ServerProcess, uuid: str, email: str) -> str:
    body = {"email": email, "name": "Änne"}
    answer = requests.post(f"{server.url}/api/v1/files/{uuid}/invites", headers=server.headers, json=body, timeout=30)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["url"])


def measure_slowest(server: ServerProcess, uuid: str, seconds: float) -> float:
    """Invite recipients for ``seconds``; return the duration of the slowest round."""
    worst, number, end = 0.0, 0, time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        invite(server, uuid, f"p{number}@example.com")
        assert requests.get(f"{server.url}/healthz", timeout=30).status_code == 200
        worst, number = max(worst, time.monotonic() - began), number + 1
        time.sleep(0.1)
    return worst


@pytest.mark.parametrize("kind", ["hangs", "dead"])
def test_no_request_waits_for_an_unresponsive_mail_server(tmp_path: Path, kind: str) -> None:
    with FakeMailServer(is_slow=True) as box, socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and never listens
        url = box.url if kind == "hangs" else f"smtp://127.0.0.1:{nobody.getsockname()[1]}"
        with run_server(tmp_path, DOCSHARE_SMTP_URL=url, DOCSHARE_RATE_LIMIT="100000") as server:
            uuid = upload_document(server)
            assert measure_slowest(server, uuid, 8) < TIMEOUT_S / 10
            wait_until(lambda: has_failed(list_outbox(tmp_path), kind), seconds=60)
            assert {row["state"] for row in list_outbox(tmp_path)} == {"queued"}


def list_outbox(folder: Path) -> list[dict[str, Any]]:
    listed = run_docshare("admin", "outbox", "list", "--json", env=make_env(folder))
    rows: list[dict[str, Any]] = json.loads(listed.stdout)
    return rows


def has_failed(rows: list[dict[str, Any]], kind: str) -> bool:
    """Return whether there was an attempt, of which the server knows the result unless the mail server hangs."""
    is_refused = any("refused" in row.get("error", "") for row in rows)
    return any(row["attempts"] for row in rows) and (kind == "hangs" or is_refused)


def test_outbox_show_prints_an_eml_file(tmp_path: Path) -> None:
    with run_server(tmp_path) as server:
        link = invite(server, upload_document(server), "ann@example.com")
    env = make_env(tmp_path)
    (uuid,) = run_docshare("admin", "outbox", "list", "--format", "ids", env=env).stdout.split()
    shown = run_docshare("admin", "outbox", "show", uuid, env=env, text=False)
    assert shown.returncode == 0
    message = message_from_bytes(shown.stdout, policy=policy.default)  # type: ignore[arg-type]
    assert isinstance(message, EmailMessage)
    assert (message["To"], message.defects) == ("ann@example.com", [])
    assert "Größe – Q3.pdf" in message["Subject"]
    assert read_part(message).startswith("Hello Änne,\n")
    assert link in read_part(message)
