"""``docshare admin`` on a data directory, with and without a running server."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.documents.pdfs import simple_pdf
from tests.support.servers.server_process import run_admin, run_docshare, run_server

UNKNOWN = "00000000-0000-4000-8000-000000000000"


def test_accounts_and_keys_are_managed_without_a_server(env: dict[str, str]) -> None:
    made = run_admin(env, "account", "create", "ada@example.com", "--name", "Ada", "--tier", "basic")
    assert made.keys() == {"uuid", "email", "name", "tier", "apiKey"}
    assert (made["email"], made["name"], made["tier"]) == ("ada@example.com", "Ada", "basic")
    assert run_admin(env, "account", "list") == [{key: made[key] for key in ("uuid", "email", "name", "tier")}]
    assert run_admin(env, "account", "set-tier", "ada@example.com", "free")["tier"] == "free"
    key = run_admin(env, "key", "create", "ada@example.com", "--name", "ci")
    assert key.keys() == {"uuid", "key"}
    assert key["key"] not in json.dumps(run_admin(env, "key", "list", "ada@example.com"))
    assert run_admin(env, "account", "delete", "ada@example.com", "--yes")["email"] == "ada@example.com"
    assert run_admin(env, "account", "list") == []


def test_the_same_commands_reach_a_running_server(tmp_path: Path, env: dict[str, str]) -> None:
    with run_server(tmp_path) as server:
        made = run_admin(env, "account", "create", "ada@example.com")
        headers = {"Authorization": f"Bearer {made['apiKey']}"}
        assert requests.get(f"{server.url}/api/v1/user", headers=headers, timeout=10).json()["tier"] == "pro"
        key = next(row for row in run_admin(env, "key", "list", "ada@example.com"))
        run_admin(env, "key", "revoke", key["uuid"], "--yes")
        assert requests.get(f"{server.url}/api/v1/user", headers=headers, timeout=10).status_code == 401


def test_a_plan_change_takes_effect_immediately(tmp_path: Path, env: dict[str, str]) -> None:
    with run_server(tmp_path) as server:
        run_admin(env, "account", "set-tier", "owner@example.com", "free")
        user = requests.get(f"{server.url}/api/v1/user", headers=server.headers, timeout=10).json()
        assert (user["tier"], user["limits"]["maxActiveFiles"]) == ("free", 3)


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("account", "create", "not an address"), 9),
        (("account", "create", "ada@example.com", "--tier", "gold"), 9),
        (("account", "set-tier", "nobody@example.com", "pro"), 3),
        (("key", "create", "nobody@example.com"), 3),
        (("login-link", "nobody@example.com"), 3),
        (("key", "revoke", "6f1c2e9a-3b0d-4d53-9a51-0c8d3f5f8f10", "--yes"), 3),
        (("account", "delete", "nobody@example.com"), 2),
    ],
)
def test_a_rejected_command_prints_one_error_and_exits_with_its_code(
    env: dict[str, str], args: tuple[str, ...], code: int
) -> None:
    run_admin(env, "account", "create", "bob@example.com")
    done = run_docshare("admin", *args, env=env)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def test_creating_an_account_with_a_used_email_exits_with_7(env: dict[str, str]) -> None:
    run_admin(env, "account", "create", "ada@example.com")
    assert run_docshare("admin", "account", "create", "ADA@example.com", env=env).returncode == 7


def test_check_reports_damaged_and_missing_blobs(tmp_path: Path, env: dict[str, str]) -> None:
    with run_server(tmp_path) as server:
        answer = requests.post(
            f"{server.url}/api/v1/files", headers=server.headers, files={"file": ("a.pdf", simple_pdf())}, timeout=20
        )
        assert answer.status_code == 200, answer.text
        assert [row["detail"] for row in run_admin(env, "check") if not row["ok"]] == []
    (blob,) = [path for path in (tmp_path / "data" / "blobs").rglob("*") if path.is_file()]
    blob.write_bytes(b"short")
    done = run_docshare("admin", "check", "--json", env=env)
    assert done.returncode == 13
    assert any("5 bytes" in row["detail"] for row in json.loads(done.stdout) if not row["ok"])
    blob.unlink()
    assert run_docshare("admin", "check", env=env).returncode == 13


@pytest.mark.parametrize(
    "args",
    [("check",), ("sweep",), ("account", "list"), ("trash", "list", "a@b.example"), ("key", "create", "a@b.example")],
)
def test_a_missing_data_directory_is_reported_and_not_created(
    tmp_path: Path, env: dict[str, str], args: tuple[str, ...]
) -> None:
    nowhere = tmp_path / "nowhere"
    done = run_docshare("admin", *args, "--data", str(nowhere), env=env)
    assert (done.returncode, done.stdout, nowhere.exists()) == (2, "", False)
    assert f"there is no docshare data in {nowhere}" in done.stderr


def test_sweep_prints_counts(env: dict[str, str]) -> None:
    run_admin(env, "account", "create", "bob@example.com")
    assert run_admin(env, "sweep") == {"burned": 0, "purged": 0, "expired": 0, "removed": 0}


def upload_document(server: Any) -> dict[str, Any]:
    answer = requests.post(
        f"{server.url}/api/v1/files", headers=server.headers, files={"file": ("a.pdf", simple_pdf())}, timeout=20
    )
    assert answer.status_code == 200, answer.text
    made: dict[str, Any] = answer.json()
    return made


def test_files_in_the_trash_are_listed_restored_and_purged(tmp_path: Path, env: dict[str, str]) -> None:
    """``trash list EMAIL``, ``trash restore FILE``: ``{uuid, ...}``, with a running server and without one."""
    email = "owner@example.com"
    with run_server(tmp_path) as server:
        kept, lost = upload_document(server), upload_document(server)
        assert run_admin(env, "trash", "list", email) == []
        for made in (kept, lost):
            requests.delete(f"{server.url}/api/v1/files/{made['uuid']}", headers=server.headers, timeout=10)
        rows = run_admin(env, "trash", "list", email)
        assert [row["uuid"] for row in rows] == [lost["uuid"], kept["uuid"]]
        assert rows[0].keys() == {"uuid", "shortId", "originalName", "size", "trashedAt", "purgeAt"}
        assert run_admin(env, "trash", "restore", kept["shortId"])["uuid"] == kept["uuid"]
        assert requests.get(kept["shareUrl"], timeout=10).status_code == 200
    assert run_docshare("admin", "trash", "purge", lost["uuid"], env=env).returncode == 2
    assert run_admin(env, "trash", "purge", lost["uuid"], "--confirm", lost["uuid"])["uuid"] == lost["uuid"]
    assert run_admin(env, "trash", "list", email) == []
    for command in ("restore", "purge"):
        for name in (lost["uuid"], kept["uuid"], "nonsense"):
            assert run_docshare("admin", "trash", command, name, "--yes", env=env).returncode == 3
    assert run_docshare("admin", "trash", "list", "nobody@example.com", env=env).returncode == 3


def test_a_sign_in_link_points_at_the_running_server(tmp_path: Path, env: dict[str, str]) -> None:
    with run_server(tmp_path) as server:
        link = run_admin(env, "login-link", "owner@example.com")["url"]
        assert link.startswith(f"{server.url}/login/")
        assert requests.get(link, timeout=10).status_code == 200


def test_login_link_warns_if_no_server_is_running(tmp_path: Path, env: dict[str, str]) -> None:
    with run_server(tmp_path):
        running = run_docshare("admin", "login-link", "owner@example.com", env=env)
    alone = run_docshare("admin", "login-link", "owner@example.com", env=env)
    assert (running.returncode, alone.returncode) == (0, 0)
    assert ("no server is running" in running.stderr, "no server is running" in alone.stderr) == (False, True)


def test_freeze_accepts_every_form_of_a_link(tmp_path: Path, env: dict[str, str]) -> None:
    with run_server(tmp_path) as server:
        files = {"file": ("a.pdf", simple_pdf())}
        made = requests.post(f"{server.url}/api/v1/files", headers=server.headers, files=files, timeout=10).json()
        settings = f"{server.url}/api/v1/files/{made['uuid']}/settings"
        assert requests.put(settings, headers=server.headers, json={"slug": "offer"}, timeout=10).ok
        for word in (made["shareUrl"], f"{server.url}/offer", "slug:offer", "offer", made["uuid"], made["shortId"]):
            assert "frozenAt" in run_admin(env, "freeze", word)
            assert requests.get(f"{server.url}/offer", timeout=10).status_code == 403
            assert "frozenAt" not in run_admin(env, "unfreeze", word)
        assert requests.get(f"{server.url}/offer", timeout=10).status_code == 200


def test_secrets_are_stored_as_hashes_only(tmp_path: Path, env: dict[str, str]) -> None:
    made = run_admin(env, "account", "create", "ada@example.com")
    link = run_admin(env, "login-link", "ada@example.com")["url"].rsplit("/", 1)[1]
    stored = "\n".join(sqlite3.connect(tmp_path / "data" / "docshare.db").iterdump())
    assert made["apiKey"] not in stored
    assert link not in stored


class TestAdminChannel:
    """The loopback channel accepts only the instance key, and no request through a proxy."""

    def post(self, server: Any, headers: dict[str, str], body: Any = None) -> requests.Response:
        body = {"command": "account list", "args": {}} if body is None else body
        return requests.post(f"{server.url}/_admin", json=body, headers=headers, timeout=10)

    def test_only_the_instance_key_is_accepted(self, tmp_path: Path) -> None:
        with run_server(tmp_path) as server:
            key = {"Authorization": f"Instance {(server.data_dir / 'instance.key').read_text().strip()}"}
            assert self.post(server, key).status_code == 200
            assert self.post(server, {}).status_code == 404
            assert self.post(server, server.headers).status_code == 404
            assert self.post(server, {"Authorization": "Instance " + "0" * 64}).status_code == 404
            assert self.post(server, key | {"X-Forwarded-For": "127.0.0.1"}).status_code == 404
            assert self.post(server, key, {"command": "nonsense", "args": {}}).status_code == 400
            assert self.post(server, key, {"command": "key create", "args": {}}).status_code == 400
            assert self.post(server, key, {"command": "key create", "args": {"email": 1}}).status_code == 400
            assert self.post(server, key, ["account list"]).status_code == 400

    @pytest.mark.parametrize("raw", [b"[" * 60_000, b'{"command": "owner", "args": {"a": "\\ud800"}}', b"\xff", b""])
    def test_an_ambiguous_or_invalid_json_body_is_400(self, tmp_path: Path, raw: bytes) -> None:
        with run_server(tmp_path) as server:
            key = {"Authorization": f"Instance {(server.data_dir / 'instance.key').read_text().strip()}"}
            answer = requests.post(f"{server.url}/_admin", data=raw, headers=key, timeout=10)
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")


def stable_mail_lines(text: str) -> list[str]:
    """Return the lines of an email without its date and boundaries, which change every time it is printed."""
    return [line for line in text.splitlines() if "==" not in line and not line.startswith("Date:")]


def test_invite_and_outbox_work_with_and_without_a_server(tmp_path: Path, env: dict[str, str]) -> None:
    with run_server(tmp_path) as server:
        upload = {"file": ("offer.pdf", simple_pdf(pages=1))}
        made = requests.post(f"{server.url}/api/v1/files", headers=server.headers, files=upload, timeout=30).json()
        row = run_admin(env, "invite", made["shortId"], "ann@example.com", "--name", "Ann")
        assert row["uuid"]
        assert requests.get(row["url"], timeout=10).status_code == 200
    (mail,) = run_admin(env, "outbox", "list")
    assert (mail["to"], mail["state"]) == ("ann@example.com", "kept")
    table = run_docshare(
        "admin", "outbox", "list", "--format", "table", env=env | {"COLUMNS": "80"}
    ).stdout.splitlines()
    assert table[0].split()[-1] == "UUID"
    assert mail["subject"] in table[1]
    assert table[1].split()[-1] == mail["uuid"][:8]
    shown = run_docshare("admin", "outbox", "show", mail["uuid"], env=env)
    assert shown.stdout.startswith("From: ")
    assert row["url"] in shown.stdout
    again = run_docshare("admin", "outbox", "show", mail["uuid"][:8], env=env)
    assert stable_mail_lines(again.stdout) == stable_mail_lines(shown.stdout)
    assert run_docshare("admin", "outbox", "show", UNKNOWN, env=env).returncode == 3
    assert run_docshare("admin", "outbox", "show", UNKNOWN[:8], env=env).returncode == 3
    for name in (made["shareUrl"], made["uuid"].upper()):
        assert run_admin(env, "invite", name, "ann@example.com")["uuid"] == row["uuid"]
    slug = run_docshare(
        "admin", "invite", made["shareUrl"].replace(made["shortId"], "offer"), "ann@example.com", env=env
    )
    assert (slug.returncode, "UUID, short id, share link, or @last" in slug.stderr) == (2, True)
    unknown = run_docshare("admin", "invite", "aB3dE5fG7hJ9", "ann@example.com", env=env)
    assert (unknown.returncode, "other accounts" in unknown.stderr) == (3, False)
    assert run_docshare("admin", "invite", made["shortId"], "nobody", env=env).returncode == 9
