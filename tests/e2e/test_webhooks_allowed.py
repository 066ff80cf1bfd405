"""The webhook targets that a server may call, as its operator configures them."""

from pathlib import Path
from typing import Any

import pytest
import requests

from docshare.contract.signing import verify
from docshare.server.runtime import current_time_ms
from tests.support.outside.receivers import open_receiver
from tests.support.servers.server_process import ServerProcess, make_env, run_docshare, run_server


def post_webhook(server: ServerProcess, url: str) -> requests.Response:
    body = {"url": url, "events": ["file.viewed"]}
    return requests.post(f"{server.url}/api/v1/webhooks", json=body, headers=server.headers, timeout=20)


def send_test(server: ServerProcess, made: requests.Response) -> Any:
    uuid = made.json()["webhook"]["uuid"]
    return requests.post(f"{server.url}/api/v1/webhooks/{uuid}/test", headers=server.headers, timeout=20).json()


def test_dev_allows_webhooks_to_this_machine_only(tmp_path: Path) -> None:
    with run_server(tmp_path, "--dev") as server, open_receiver() as receiver:
        for url in (receiver.url, receiver.url.replace("127.0.0.1", "localhost")):
            made = post_webhook(server, url)
            assert made.status_code == 201, made.text
            assert send_test(server, made)["delivered"] is True
            hit = receiver.requests[-1]
            assert verify(made.json()["secret"], hit.body, hit.headers["x-service-signature"], current_time_ms())
        assert post_webhook(server, "http://10.0.0.1/").status_code == 400
        assert post_webhook(server, "http://169.254.169.254/").status_code == 400


def test_every_response_of_a_development_server_has_its_header(tmp_path: Path) -> None:
    with run_server(tmp_path, "--dev") as server:
        answers = [
            requests.get(f"{server.url}/healthz", timeout=10),
            requests.post(
                f"{server.url}/api/v1/files", data=b"x" * 4096, timeout=10
            ),  # rejected before the application
            requests.post(f"{server.url}/healthz", data=b"x" * (2 << 20), timeout=10),  # ... and by the listener
        ]
        assert [(answer.status_code, answer.headers.get("X-Docshare-Dev")) for answer in answers] == [
            (200, "1"), (401, "1"), (413, "1"),
        ]  # fmt: skip


def test_dev_extends_the_configured_allow_list(tmp_path: Path) -> None:
    with run_server(tmp_path):
        pass
    (tmp_path / "data" / "config.toml").write_text('webhook_allow = ["10.0.0.0/8"]\n')
    with run_server(tmp_path, "--dev") as server:
        assert post_webhook(server, "http://10.0.0.1/").status_code == 201
        assert post_webhook(server, "http://127.0.0.1:9/").status_code == 201


def test_webhooks_to_this_machine_are_rejected_by_default(tmp_path: Path) -> None:
    with run_server(tmp_path) as server, open_receiver() as receiver:
        assert "X-Docshare-Dev" not in requests.get(f"{server.url}/healthz", timeout=10).headers
        for url in (receiver.url, receiver.url.replace("http", "https"), "https://localhost/"):
            assert post_webhook(server, url).status_code == 400
        assert receiver.requests == []


def test_the_data_directory_does_not_contain_the_secret(tmp_path: Path) -> None:
    """Webhook secrets are encrypted with a key outside the database."""
    with run_server(tmp_path, DOCSHARE_WEBHOOK_ALLOW="127.0.0.0/8") as server, open_receiver() as receiver:
        made = post_webhook(server, receiver.url)
        assert send_test(server, made)["delivered"] is True
        digits = made.json()["secret"].removeprefix("whsec_")
    stored = b"".join(path.read_bytes() for path in server.data_dir.rglob("*") if path.is_file())
    assert receiver.url.encode() in stored
    assert digits.encode() not in stored
    assert bytes.fromhex(digits) not in stored


@pytest.mark.parametrize("flags", [[], ["--dev"]])
def test_an_invalid_webhook_allow_value_prevents_the_start_and_is_named(tmp_path: Path, flags: list[str]) -> None:
    env = make_env(tmp_path, DOCSHARE_WEBHOOK_ALLOW="https://receiver.lan")
    ended = run_docshare("serve", "--ephemeral", "--port", "0", *flags, env=env)
    assert ended.returncode == 2
    assert "DOCSHARE_WEBHOOK_ALLOW" in ended.stderr
    assert "https://receiver.lan" in ended.stderr
    assert ended.stdout == ""
