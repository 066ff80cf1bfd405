"""The function that sends all requests: credentials, responses, errors."""

from __future__ import annotations

import io
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from docshare.client import Client
from docshare.client.errors import BadAddress, ConnectionLost, NotAnApi, NotConnected, Redirected, Refused, TimedOut
from docshare.contract.problems import Problem
from tests.client.conftest import TOKEN
from tests.support.outside.fake_api import FakeApi, FakeResponse, FakeTime, fake_api, problem

Connect = Callable[..., Client]


def list_sent_credentials(api: FakeApi) -> list[str | None]:
    return [request.headers["Authorization"] for request in api.requests]


def test_a_request_carries_the_token_and_the_user_agent(api: FakeApi, client: Client) -> None:
    client.account.show()
    assert list_sent_credentials(api) == [f"Bearer {TOKEN}"]
    assert api.requests[0].headers["User-Agent"].startswith("docshare/")


def test_a_token_callable_is_called_before_each_request(api: FakeApi, connect: Connect) -> None:
    tokens = iter(["first", "second"])
    client = connect(token=lambda: next(tokens))
    client.account.show()
    client.account.show()
    assert list_sent_credentials(api) == ["Bearer first", "Bearer second"]


@pytest.mark.parametrize(("token", "sent"), [(TOKEN, f"Bearer {TOKEN}"), (None, None)])
def test_a_netrc_entry_for_the_host_never_replaces_the_credential(
    api: FakeApi, connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, token: str | None, sent: str | None
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login ann password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    connect(token=token).account.show()
    assert list_sent_credentials(api) == [sent]


def test_a_token_with_a_line_break_is_rejected_before_anything_is_sent(api: FakeApi, connect: Connect) -> None:
    with pytest.raises(Problem) as caught:
        connect(token="abc\ndef").account.show()
    assert caught.value.code == "unauthorized"
    assert api.requests == []


def test_cookies_are_not_stored(api: FakeApi, client: Client) -> None:
    api.on("GET", "/user", FakeResponse({}, headers={"Set-Cookie": "a=b; Path=/"}))
    client.account.show()
    client.account.show()
    assert api.requests[1].headers["Cookie"] is None


def test_a_redirect_raises_and_the_token_is_not_forwarded(api: FakeApi, client: Client) -> None:
    with fake_api() as other:
        api.on("GET", "/user", FakeResponse(b"", 301, {"Location": other.url + "/api/v1/user"}))
        with pytest.raises(Redirected) as caught:
            client.account.show()
        assert other.requests == []
        assert other.url in caught.value.detail
        assert "must be https" in caught.value.hint


@pytest.mark.parametrize("base", ["http://docs.example", "http://192.0.2.1:8080"])
def test_a_token_is_not_sent_over_plain_http_to_another_machine(base: str) -> None:
    with pytest.raises(BadAddress, match="unencrypted"):
        Client(base, TOKEN)


@pytest.mark.parametrize(
    ("base", "options"),
    [
        ("http://localhost:8787", {"token": TOKEN}),
        ("http://127.8.9.1", {"token": TOKEN}),
        ("http://[::1]:8787", {"token": TOKEN}),
        ("https://docs.example", {"token": TOKEN}),
        ("http://docs.example", {"token": None}),
        ("http://docs.example", {"token": TOKEN, "allow_http": True}),
    ],
)
def test_plain_http_is_allowed_locally_without_a_token_or_explicitly(base: str, options: dict[str, Any]) -> None:
    assert Client(base, **options).base_url == base


@pytest.mark.parametrize(
    "base", ["", "docs.example", "ftp://docs.example", "https://", "https://a@docs.example", "https://d.example/?q",
             "https://d.example/#x", "https://[::1", "https://d.example:port"],
)  # fmt: skip
def test_a_malformed_base_url_is_rejected(base: str) -> None:
    with pytest.raises(BadAddress):
        Client(base)


@pytest.mark.parametrize(
    ("base", "origin", "shown"),
    [
        ("https://Docs.Example:443/", "https://docs.example", "https://docs.example"),
        ("https://docs.example/share/", "https://docs.example", "https://docs.example/share"),
        ("http://localhost:80", "http://localhost", "http://localhost"),
        ("https://docs.example:8443", "https://docs.example:8443", "https://docs.example:8443"),
    ],
)
def test_an_address_is_parsed_into_origin_and_base_url(base: str, origin: str, shown: str) -> None:
    client = Client(base)
    assert (client.origin, client.base_url) == (origin, shown)


def test_all_members_of_a_problem_document_are_available(api: FakeApi, client: Client) -> None:
    body = {"status": 403, "code": "insufficient_scope", "detail": "needs profile", "hint": "ask", "scope": "profile"}
    api.on("GET", "/user", FakeResponse(body, 403, {"WWW-Authenticate": "Bearer"}))
    with pytest.raises(Refused) as caught:
        client.account.show()
    refusal = caught.value
    assert (refusal.code, refusal.status, refusal.detail, refusal.hint) == (
        "insufficient_scope", 403, "needs profile", "ask",
    )  # fmt: skip
    assert (refusal.method, refusal.path, refusal.extra) == ("GET", "/api/v1/user", {"scope": "profile"})
    assert refusal.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("status", "code"),
    [(400, "bad_request"), (401, "unauthorized"), (403, "forbidden"), (404, "not_found"), (413, "payload_too_large"),
     (418, "bad_request"), (501, "not_implemented"), (599, "internal")],
)  # fmt: skip
def test_an_error_without_a_code_gets_the_code_of_its_status(
    api: FakeApi, client: Client, status: int, code: str
) -> None:
    api.on("GET", "/user", FakeResponse("<h1>no</h1>", status, {"Content-Type": "text/html"}))
    with pytest.raises(Refused) as caught:
        client.account.show()
    assert (caught.value.code, caught.value.status, caught.value.is_plain_text) == (code, status, True)
    assert "<h1>" not in caught.value.detail


def test_a_plain_text_error_keeps_its_text(api: FakeApi, client: Client) -> None:
    api.on("GET", "/user", FakeResponse("Entity too large", 413, {"Content-Type": "text/plain; charset=utf-8"}))
    with pytest.raises(Refused, match="Entity too large"):
        client.account.show()


def test_a_huge_error_response_is_not_read_to_its_end(api: FakeApi, client: Client) -> None:
    api.on(
        "GET", "/user", FakeResponse(b" " * 50_000_000, 404, {"Content-Type": "text/plain"}, connection_action="close")
    )
    with pytest.raises(Refused) as caught:
        client.account.show()
    assert caught.value.status == 404


@pytest.mark.parametrize("body", [b"<html>hello</html>", b"", b"[" * 100_000, b"[1, 2]", b'"text"'])
def test_a_response_of_an_unrelated_server_raises_not_an_api(api: FakeApi, client: Client, body: bytes) -> None:
    api.on("GET", "/user", FakeResponse(body))
    with pytest.raises(NotAnApi, match="did not answer with"):
        client.account.show()


def test_a_refused_connection_names_the_address_and_the_reason(time: FakeTime) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(NotConnected) as caught:
            Client(url, TOKEN, clock=time.make_clock()).account.show()
    assert caught.value.detail == f"cannot connect to {url}: connection refused"
    assert (caught.value.method, caught.value.path) == ("GET", "/api/v1/user")
    assert time.waits == [1.0, 2.0, 4.0]


def test_an_unknown_host_name_raises_not_connected(time: FakeTime) -> None:
    with pytest.raises(NotConnected, match=r"cannot connect to http://nowhere\.invalid"):
        Client("http://nowhere.invalid", clock=time.make_clock(), retries=0).discover()


def test_a_server_that_does_not_respond_raises_timed_out(time: FakeTime) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(TimedOut, match="did not answer in time"):
            Client(url, TOKEN, timeout=0.05, retries=0, clock=time.make_clock()).account.show()


def test_a_truncated_response_raises_connection_lost(api: FakeApi, connect: Connect) -> None:
    api.on("GET", "/user", FakeResponse(b"{", headers={"Content-Length": "100"}, connection_action="close"))
    with pytest.raises(ConnectionLost):
        connect(retries=0).account.show()


def test_an_untrusted_certificate_is_not_retried(time: FakeTime, tmp_path: Path) -> None:
    with make_tls_server(tmp_path) as url, pytest.raises(NotConnected) as caught:
        Client(url, TOKEN, clock=time.make_clock()).account.show()
    assert "certificate" in caught.value.detail
    assert "--ca-bundle" in caught.value.hint
    assert time.waits == []


def test_a_certificate_from_the_ca_bundle_is_trusted(time: FakeTime, tmp_path: Path) -> None:
    with make_tls_server(tmp_path) as url:
        bundle = str(tmp_path / "cert.pem")
        assert Client(url, TOKEN, verify=bundle, clock=time.make_clock()).account.show()["tier"] == "pro"


def make_tls_server(folder: Path) -> Any:
    """Return ``fake_api`` behind TLS with a certificate that only ``folder/cert.pem`` verifies."""
    import ssl
    from contextlib import contextmanager

    @contextmanager
    def serve() -> Any:
        cert, key = folder / "cert.pem", folder / "key.pem"
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                   "-keyout", str(key), "-out", str(cert), "-days", "2", "-subj", "/CN=localhost",
                   "-addext", "subjectAltName=DNS:localhost"]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        with fake_api(context) as api:
            yield api.url.replace("http://127.0.0.1", "https://localhost")

    return serve()


def test_the_http_proxy_of_the_environment_is_used(
    api: FakeApi, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", api.url)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    client = connect(base_url="http://docs.example", allow_http=True)
    assert client.account.show()["tier"] == "pro"
    assert api.requests[0].headers["Host"] == "docs.example"


def test_each_exchange_is_passed_to_the_observer(api: FakeApi, connect: Connect) -> None:
    exchanges: list[Any] = []
    connect(on_exchange=exchanges.append).account.show()
    assert [(each.method, each.url, each.status) for each in exchanges] == [("GET", api.url + "/api/v1/user", 200)]


@pytest.mark.parametrize("file", ["..", ".", "a/b", "a?purge=1", "", "ä", "a b", "%2e%2e"])
def test_an_invalid_id_is_never_inserted_into_a_path(api: FakeApi, client: Client, file: str) -> None:
    with pytest.raises(Problem) as caught:
        client.files.delete(file)
    assert caught.value.code == "not_found"
    assert api.requests == []


def test_importing_the_library_does_not_import_an_http_client() -> None:
    code = (
        "import sys, docshare.client, docshare.client.client, docshare.client.errors, docshare.client.address\n"
        "from docshare.client import Client\n"
        "assert Client('http://localhost', 'key').origin == 'http://localhost'\n"
        "print(*{'requests', 'urllib3', 'flask', 'peewee', 'rich', 'typer'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == ""


def test_an_unknown_problem_code_is_preserved_with_its_status(api: FakeApi, client: Client) -> None:
    api.on("GET", "/user", problem(409, "brand_new"))
    with pytest.raises(Refused) as caught:
        client.account.show()
    assert (caught.value.code, caught.value.status) == ("brand_new", 409)


def test_a_slow_uplink_does_not_count_as_a_connect_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sending a block may take longer than the connect timeout."""
    monkeypatch.setattr("docshare.client.http.transport.CONNECT_TIMEOUT", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)

        def read_after_a_while() -> None:
            with listener.accept()[0] as peer:
                threading.Event().wait(0.4)  # longer than the timeout, with the buffers full
                left = 10_000_000
                while left > 0:
                    left -= len(peer.recv(1_000_000))
                peer.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{"uuid": "u"}')

        threading.Thread(target=read_after_a_while, daemon=True).start()
        client = Client(f"http://127.0.0.1:{listener.getsockname()[1]}", TOKEN, retries=0)
        assert client.files.upload(io.BytesIO(bytes(10_000_000)), "a.pdf") == {"uuid": "u"}
