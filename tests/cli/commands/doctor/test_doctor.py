"""``docshare doctor`` for a remote server: the program, its settings, and the connection to that server."""

from __future__ import annotations

import socket
import ssl
import threading
import time as real_time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docshare.contract.findings import run_check
from tests.support.outside.fake_api import FakeApi, FakeResponse, FakeTime, fake_api, problem
from tests.support.shell import TOKEN, CommandResult, Shell

DAY = 86_400
ALL_PASSED = {
    "settings.file": None, "settings.permissions": None, "settings.address": True, "settings.credential": True,
    "settings.proxy": True, "settings.netrc": None, "server.name": True, "server.connection": True,
    "server.certificate": None, "server.api": True, "server.clock": True, "server.credential": True,
    "server.scopes": True, "server.rate-limit": True,
}  # fmt: skip


@pytest.fixture
def api(api: FakeApi) -> FakeApi:
    """Return a server that passes every check."""
    limits = {"RateLimit": '"default";r=100;t=30', "RateLimit-Policy": '"default";q=120;w=60'}
    api.on("GET", "", {"name": "docshare", "version": "1.2.3"})
    api.on("GET", "/webhooks", {"webhooks": []})
    api.on("GET", "/user", FakeResponse({"email": "ann@example.com", "name": "Ann Lee", "tier": "pro"}, headers=limits))
    return api


def run_doctor(shell: Shell, *args: str, env: dict[str, str] | None = None) -> CommandResult:
    return shell("doctor", "--only", "settings", "--only", "server", *args, env=env)


def group_rows_by_check(ended: CommandResult) -> dict[str, dict[str, Any]]:
    return {row["check"]: row for row in ended.json}


def test_a_correct_setup_passes_every_check(shell: Shell, api: FakeApi) -> None:
    ended = run_doctor(shell, "--json")
    assert ended.code == 0
    assert {name: row["ok"] for name, row in group_rows_by_check(ended).items()} == ALL_PASSED
    assert group_rows_by_check(ended)["server.credential"]["detail"] == "ann@example.com, plan pro"
    assert group_rows_by_check(ended)["server.rate-limit"]["detail"] == "100 of 120 requests left"


def test_the_installed_libraries_match_their_bounds(shell: Shell) -> None:
    ended = shell("doctor", "--only", "program", "--json")
    rows = group_rows_by_check(ended)
    assert ended.code == 0
    assert (rows["program.python"]["ok"], rows["program.output"]["ok"]) == (True, True)
    assert rows["program.libraries"]["ok"] is not False


def test_a_library_outside_of_its_bounds_is_named(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    versions = {"typer": "0.29.0", "rich": "14.1", "requests": "2.32.5"}
    required = ["typer<0.29,>=0.26", "rich>=14", "requests>=2.32", "maxminddb>=2.6; extra == 'geoip'"]
    monkeypatch.setattr(metadata, "requires", lambda name: required)
    monkeypatch.setattr(metadata, "version", versions.__getitem__)
    ended = shell("doctor", "--only", "program", "--json")
    row = group_rows_by_check(ended)["program.libraries"]
    assert (ended.code, row["ok"], row["detail"]) == (13, False, "typer 0.29.0 does not match <0.29,>=0.26")


def test_the_manual_is_found_in_a_directory_of_manpath(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "man" / "man1").mkdir(parents=True)
    (tmp_path / "man" / "man1" / "docshare.1").touch()
    rows = group_rows_by_check(shell("doctor", "--only", "program", "--json", env={"MANPATH": str(tmp_path / "man")}))
    assert rows["program.manual"]["detail"] == f"manual pages are in {tmp_path / 'man'}"


def test_credentials_that_others_can_read_are_reported_with_the_command_that_fixes_it(
    shell: Shell, api: FakeApi
) -> None:
    added = shell("profile", "add", "work", "--url", api.url, "--with-token", stdin=f"{TOKEN}\n".encode())
    assert added.code == 0
    secret = shell.home / "config" / "credentials.json"
    secret.chmod(0o644)
    row = group_rows_by_check(run_doctor(shell, "--json"))["settings.permissions"]
    assert (row["ok"], row["level"], row["fix"]) == (False, "error", f"chmod 600 {secret}")


def test_unreadable_settings_skip_only_the_checks_that_need_them(shell: Shell, api: FakeApi) -> None:
    path = shell.home / "config" / "config.toml"
    path.parent.mkdir()
    path.write_text("profile = \n")
    ended = shell("doctor", "--only", "program", "--only", "settings", "--json")
    rows = group_rows_by_check(ended)
    assert (ended.code, rows["settings.file"]["ok"], rows["program.python"]["ok"]) == (13, False, True)
    assert rows["settings.address"]["detail"] == "skipped; requires file to pass"
    assert rows["settings.credential"]["detail"] == "skipped; requires address to pass"


def test_an_unknown_setting_is_a_warning(shell: Shell, api: FakeApi) -> None:
    path = shell.home / "config" / "config.toml"
    path.parent.mkdir()
    path.write_text("tint = true\n")
    ended = run_doctor(shell, "--json")
    assert (ended.code, group_rows_by_check(ended)["settings.file"]["level"]) == (0, "warning")
    assert "tint" in group_rows_by_check(ended)["settings.file"]["detail"]


def test_a_missing_credential_is_reported_with_the_login_command(shell: Shell, api: FakeApi) -> None:
    ended = run_doctor(shell, "--json", env={"DOCSHARE_TOKEN": ""})
    rows = group_rows_by_check(ended)
    assert (ended.code, rows["settings.credential"]["ok"]) == (13, False)
    assert "docshare auth login" in rows["settings.credential"]["fix"]
    assert [rows[f"server.{name}"]["ok"] for name in ("api", "credential", "scopes")] == [True, None, None]


def test_a_rejected_credential_is_reported_with_its_source(shell: Shell, api: FakeApi) -> None:
    api.on("GET", "/user", problem(401, "unauthorized"))
    ended = run_doctor(shell, "--json")
    rows = group_rows_by_check(ended)
    assert (ended.code, rows["server.credential"]["detail"]) == (13, "rejected, from env DOCSHARE_TOKEN")
    assert rows["server.scopes"]["detail"] == "skipped; requires credential to pass"


def test_a_credential_that_the_server_echoes_is_not_printed(shell: Shell, api: FakeApi) -> None:
    api.on("GET", "/user", problem(500, "internal", f"cannot read {TOKEN}"))
    ended = run_doctor(shell, "--json")
    assert group_rows_by_check(ended)["server.credential"]["detail"] == "responded with status 500: cannot read ***"
    assert TOKEN not in ended.out + ended.err


def test_missing_scopes_are_listed_but_are_not_a_failure(shell: Shell, api: FakeApi) -> None:
    for path in ("/user", "/webhooks"):
        api.on("GET", path, problem(403, "insufficient_scope"))
    ended = run_doctor(shell, "--json")
    rows = group_rows_by_check(ended)
    assert ended.code == 0
    assert rows["server.credential"]["detail"] == "the credential is valid but lacks the profile scope"
    assert rows["server.scopes"]["detail"] == (
        "files:read, readership:read; write scopes were not tested; lacks webhooks:manage, profile"
    )


@pytest.mark.parametrize(("apart", "code", "level"), [(30, 0, "info"), (100, 0, "warning"), (301, 13, "error")])
def test_clocks_may_differ_by_the_tolerance_of_signatures(
    shell: Shell, api: FakeApi, time: FakeTime, apart: int, code: int, level: str
) -> None:
    api.wall = lambda: time.wall - apart
    ended = run_doctor(shell, "--json")
    row = group_rows_by_check(ended)["server.clock"]
    assert (ended.code, row["level"]) == (code, level)
    assert row["detail"].startswith(f"the clocks differ by {apart} s")


def test_a_rate_limit_that_is_nearly_reached_or_not_reported_is_a_warning(shell: Shell, api: FakeApi) -> None:
    api.on("GET", "/user", FakeResponse({"tier": "pro"}, headers={"RateLimit": '"default";r=3;t=30'}))
    row = group_rows_by_check(run_doctor(shell, "--json"))["server.rate-limit"]
    assert (row["level"], row["detail"]) == ("warning", "3 of 120 requests left")
    api.on("GET", "/user", {"tier": "pro"})
    assert group_rows_by_check(run_doctor(shell, "--json"))["server.rate-limit"]["level"] == "warning"


def test_an_unknown_host_name_skips_the_checks_that_need_it(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_lookup(*args: Any, **more: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail_lookup)
    ended = run_doctor(shell, "--json", env={"DOCSHARE_URL": "https://docs.example"})
    rows = group_rows_by_check(ended)
    assert (ended.code, rows["server.name"]["ok"]) == (13, False)
    assert rows["server.name"]["detail"] == "docs.example cannot be resolved: Name or service not known"
    assert {rows[f"server.{name}"]["ok"] for name in ("connection", "certificate", "api", "clock", "scopes")} == {None}


def test_a_hanging_name_lookup_times_out(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    monkeypatch.setattr("docshare.cli.commands.doctor.checks.TIMEOUT_S", 0.05)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **more: over.wait(30) and [])
    ended = run_doctor(shell, "--json", env={"DOCSHARE_URL": "https://docs.example"})
    over.set()
    row = group_rows_by_check(ended)["server.name"]
    assert (ended.code, row["detail"], row["fix"]) == (
        13, "no response within 0.1 seconds", "DNS does not respond.",
    )  # fmt: skip


def test_a_closed_port_is_reported(shell: Shell) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        port = nobody.getsockname()[1]
        rows = group_rows_by_check(run_doctor(shell, "--json", env={"DOCSHARE_URL": f"http://127.0.0.1:{port}"}))
    assert rows["server.connection"]["detail"] == f"port {port} of 127.0.0.1: Connection refused"
    assert rows["server.api"]["ok"] is None


def test_a_server_that_never_responds_times_out(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    checks = "docshare.cli.commands.doctor.checks"
    monkeypatch.setattr(f"{checks}.TIMEOUT_S", 0.3)  # of a response; the check takes as long as a busy machine needs
    monkeypatch.setattr(f"{checks}.run_check", lambda seconds, check, fix: run_check(60.0, check, fix))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        rows = group_rows_by_check(run_doctor(shell, "--json", env={"DOCSHARE_URL": url}))
    assert rows["server.connection"]["ok"] is True
    assert rows["server.api"]["detail"] == f"{url} did not answer in time"
    assert rows["server.api"]["fix"].startswith("The server is stopped or overloaded")
    assert rows["server.scopes"]["ok"] is None


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (
            FakeResponse(b"", 301, {"Location": "https://docs.example/api/v1"}),
            "redirects to https://docs.example/api/v1",
        ),
        (FakeResponse(b"<html>", 200), "responded with status 200, which is not a docshare API"),
        (FakeResponse({}, 404), "responded with status 404, which is not a docshare API"),
    ],
)
def test_an_address_that_is_not_an_api_is_reported(
    shell: Shell, api: FakeApi, answer: FakeResponse, found: str
) -> None:
    api.on("GET", "", answer)
    ended = run_doctor(shell, "--json")
    assert (ended.code, group_rows_by_check(ended)["server.api"]["detail"]) == (13, found)


def test_an_endless_response_is_rejected(shell: Shell, api: FakeApi) -> None:
    api.on("GET", "", b" " * 2_000_000)
    ended = run_doctor(shell, "--json")
    assert (ended.code, group_rows_by_check(ended)["server.api"]["detail"]) == (13, "the response is too large")


@pytest.mark.parametrize("account", [{}, [], {"hello": 1}])
def test_a_response_that_is_not_an_account_fails_the_credential_check(shell: Shell, api: FakeApi, account: Any) -> None:
    api.on("GET", "/user", account)
    ended = run_doctor(shell, "--json")
    detail = "the server accepts the credential but returns no account"
    assert (ended.code, group_rows_by_check(ended)["server.credential"]["detail"]) == (13, detail)


def test_a_server_error_leaves_the_scopes_unknown(shell: Shell, api: FakeApi) -> None:
    api.on("GET", "/webhooks", problem(500, "internal"))
    row = group_rows_by_check(run_doctor(shell, "--json"))["server.scopes"]
    assert (row["level"], row["detail"]) == ("warning", "the server does not report webhooks:manage")


def test_a_server_in_development_mode_is_a_warning(shell: Shell, api: FakeApi) -> None:
    api.on("GET", "", FakeResponse({"name": "docshare"}, headers={"X-Docshare-Dev": "1"}))
    row = group_rows_by_check(run_doctor(shell, "--json"))["server.api"]
    assert (row["level"], row["detail"]) == ("warning", "docshare, running in development mode")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.support.outside.import_source import make_certificate

    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def https_api_url(certificate: Path, time: FakeTime) -> Iterator[str]:
    """Yield the address of an API whose certificate is signed by a private authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_name("key.pem"))
    with fake_api(context) as api:
        api.wall = lambda: time.wall
        api.on("GET", "", {"name": "docshare"})
        yield api.url.replace("http:", "https:")


@pytest.mark.parametrize(("left", "code", "level"), [(30, 0, "info"), (10, 0, "warning"), (2, 13, "error")])
def test_a_certificate_that_expires_soon_is_reported(
    shell: Shell, https_api_url: str, certificate: Path, time: FakeTime, left: int, code: int, level: str
) -> None:
    time.wall = real_time.time() + DAY - left * DAY  # it is valid for one day from now
    ended = run_doctor(shell, "--json", "--ca-bundle", str(certificate), env={"DOCSHARE_URL": https_api_url})
    row = group_rows_by_check(ended)["server.certificate"]
    assert (ended.code, row["level"], row["detail"]) == (code, level, f"valid for {left} days")
    assert group_rows_by_check(ended)["server.api"]["ok"] is True


def test_a_port_that_serves_plain_http_is_reported_once_and_in_words(shell: Shell, api: FakeApi) -> None:
    url = api.url.replace("http://", "https://")
    ended = run_doctor(shell, "--json", env={"DOCSHARE_URL": url})
    rows = group_rows_by_check(ended)
    assert [name for name, row in rows.items() if row["ok"] is False] == ["server.api"]
    assert rows["server.api"]["detail"].endswith("speaks plain http on this port, not https")
    assert rows["server.api"]["fix"].startswith("Use http://")
    assert rows["server.certificate"]["detail"] == "this port serves plain http, which has no certificate"
    assert (ended.code, "SSL" in ended.out) == (13, False)


def test_an_untrusted_certificate_is_reported(shell: Shell, https_api_url: str) -> None:
    ended = run_doctor(shell, "--json", env={"DOCSHARE_URL": https_api_url})
    row = group_rows_by_check(ended)["server.certificate"]
    assert (ended.code, row["ok"]) == (13, False)
    assert row["detail"].startswith("not trusted: self-signed certificate")
    assert "--ca-bundle" in row["fix"]


def test_the_credential_is_never_sent_unencrypted_to_another_machine(
    shell: Shell, api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_up = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *args, **more: look_up("127.0.0.1", *args, **more))
    ended = run_doctor(shell, "--json", env={"DOCSHARE_URL": api.url.replace("127.0.0.1", "docs.example")})
    rows = group_rows_by_check(ended)
    assert (rows["settings.address"]["level"], rows["server.api"]["ok"]) == ("warning", True)
    assert rows["server.credential"]["detail"] == "the credential would travel unencrypted to docs.example"
    assert api.requests
    assert not any("Authorization" in heard.headers for heard in api.requests)


def test_a_proxy_of_the_environment_is_printed_without_its_login(
    shell: Shell, api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("no_proxy", "NO_PROXY", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", f"http://ann:hush@{api.url.removeprefix('http://')}")
    ended = run_doctor(shell, "--json", env={"DOCSHARE_URL": "http://docs.example"})
    rows = group_rows_by_check(ended)
    assert rows["settings.proxy"]["detail"] == f"requests use the proxy {api.url}"
    assert [rows[f"server.{name}"]["ok"] for name in ("name", "connection", "certificate")] == [None, None, None]
    assert "hush" not in ended.out + ended.err


def test_a_bug_report_contains_no_personal_data_and_no_host_names(
    shell: Shell, api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_up = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *args, **more: look_up("127.0.0.1", *args, **more))
    url = api.url.replace("127.0.0.1", "docs.example")
    shell("profile", "add", "acme-gmbh", "--url", url, "--with-token", stdin=f"{TOKEN}\n".encode())
    env = {"DOCSHARE_URL": "", "DOCSHARE_TOKEN": ""}
    plain, hidden = (run_doctor(shell, "--allow-http", *more, env=env).out for more in ((), ("--redact",)))
    for secret in ("docs.example", "acme-gmbh", "ann@example.com", str(shell.home)):
        assert secret in plain
        assert secret not in hidden
    assert TOKEN not in plain
    assert "http://<host>" in hidden


def test_ip_addresses_paths_and_email_addresses_are_masked_in_every_column() -> None:
    from docshare.cli.commands.doctor.checks import mask_row

    row = {"check": "a.b", "detail": "bob@example.org from 192.0.2.7 and 127.0.0.1 in /srv/data/x.db", "fix": ""}
    assert mask_row(row, {})["detail"] == "<email> from <address> and 127.0.0.1 in <path>"
    row["detail"] = "2001:db8::7, fe80::1:2, 1:2:3:4:5:6:7:8, ::1 and ::/0 at 18:00:05"
    assert mask_row(row, {})["detail"] == "<address>, <address>, <address>, ::1 and ::/0 at 18:00:05"


def test_a_terminal_shows_marks_and_fixes(shell: Shell, api: FakeApi) -> None:
    api.on("GET", "/user", problem(401, "unauthorized"))
    shell.tty = True
    ended = run_doctor(shell, "--color", "never")
    assert ended.code == 13
    lines = ended.lines
    assert "Current server" in lines
    place = next(number for number, line in enumerate(lines) if line.startswith("  ✗  credential"))
    assert lines[place + 1] == "     fix: Log in again: docshare auth login"
    assert any(line.startswith("  ✓  api") for line in lines)
    assert any(line.startswith("  ·  scopes") for line in lines)
    assert ended.err.splitlines()[-1] == "1 failed, 0 warnings"


def test_a_pipe_gets_one_line_per_check(shell: Shell, api: FakeApi) -> None:
    rows = [line.split("\t") for line in run_doctor(shell).lines]
    assert [row[0] for row in rows] == list(ALL_PASSED)
    assert {len(row) for row in rows} == {5}


@pytest.mark.parametrize("args", [("--only", "everything"), ("--body", "much"), ("--body", "3GB"), ("--body", "0")])
def test_an_invalid_option_is_a_usage_error(shell: Shell, args: tuple[str, str]) -> None:
    ended = shell("doctor", *args)
    assert (ended.code, ended.out) == (2, "")


def test_a_login_in_netrc_is_reported_and_not_used(
    shell: Shell, api: FakeApi, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login ann password hush\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    rows = group_rows_by_check(run_doctor(shell, "--json"))
    assert rows["settings.netrc"]["detail"] == "~/.netrc has a login for this server, which is never used"
    assert {heard.headers["Authorization"] for heard in api.list_requests("GET", "/user")} == {f"Bearer {TOKEN}"}
