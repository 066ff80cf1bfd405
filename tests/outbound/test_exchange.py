"""Outgoing connections on real sockets: which addresses are allowed, and how hostile hosts are cut off."""

import ipaddress
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from docshare.server.outbound.addresses import Address, is_operator_allowed, is_public
from docshare.server.outbound.exchange import OutboundClient, OutboundRequest, system_resolve
from docshare.server.outbound.failures import (
    AddressForbidden,
    OutboundError,
    OutboundRedirect,
    OutboundTimeout,
    TooLarge,
)
from docshare.server.outbound.targets import OutboundTarget, parse_target
from tests.support.outside.import_source import (
    ImportSource,
    Script,
    endless_response,
    hold_connection,
    http_response,
    make_certificate,
    open_source,
    raw_response,
)

HERE = ipaddress.ip_address("127.0.0.1")
MAX_BYTES = 1 << 20


@pytest.fixture(scope="module")
def cert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def source(cert: Path) -> Iterator[ImportSource]:
    with open_source(cert) as running:
        yield running


@pytest.fixture
def outbound(cert: Path) -> OutboundClient:
    """Return a client that trusts the test certificate and resolves every name to this machine."""
    return OutboundClient(cert, resolve=lambda host: [HERE])


def fetch(outbound: OutboundClient, url: str, *, most: int = MAX_BYTES, deadline_s: float = 10.0) -> bytes:
    with outbound.exchange(OutboundRequest(parse_target(url)), is_operator_allowed, deadline_s=deadline_s) as answer:
        return b"".join(answer.read_blocks(most))


# --- addresses -------------------------------------------------------------------------------------------------------


def test_the_checked_address_is_connected_with_the_host_name(source: ImportSource, outbound: OutboundClient) -> None:
    """SNI and Host contain the name; the request has identity encoding, no proxy and no cookies."""
    source.respond = http_response(b"hello")
    assert fetch(outbound, source.url("/a/b?c=d")) == b"hello"
    lines = source.request_heads[0].decode().split("\r\n")
    assert lines[0] == "GET /a/b?c=d HTTP/1.1"
    assert sorted(line for line in lines[1:] if line) == [
        "Accept-Encoding: identity", "Connection: close", f"Host: files.example:{source.port}",
    ]  # fmt: skip


def test_a_name_is_resolved_only_once(source: ImportSource, cert: Path) -> None:
    """Prevent DNS rebinding: the checked address is the connected one."""
    answers = [[HERE], [ipaddress.ip_address("169.254.169.254")]]
    source.respond = http_response(b"hello")
    assert fetch(OutboundClient(cert, resolve=lambda host: answers.pop(0)), source.url()) == b"hello"
    assert len(answers) == 1


@pytest.mark.parametrize("bad", ["169.254.169.254", "0.0.0.0", "224.0.0.1", "fe80::1", "::ffff:169.254.169.254"])
@pytest.mark.parametrize("first", [True, False])
def test_a_host_with_one_forbidden_address_is_rejected(source: ImportSource, cert: Path, bad: str, first: bool) -> None:
    """All resolved addresses must be allowed."""
    mixed = [ipaddress.ip_address(bad), HERE] if first else [HERE, ipaddress.ip_address(bad)]
    with pytest.raises(AddressForbidden) as caught:
        fetch(OutboundClient(cert, resolve=lambda host: mixed), source.url())
    assert bad not in str(caught.value)
    assert source.connections == 0


def test_a_user_supplied_url_must_not_point_to_this_machine(source: ImportSource, outbound: OutboundClient) -> None:
    with (
        pytest.raises(AddressForbidden),
        outbound.exchange(OutboundRequest(parse_target(source.url())), is_public, deadline_s=5),
    ):
        pass
    assert source.connections == 0


@pytest.mark.parametrize("form", ["127.1", "0177.0.0.1", "0x7f000001", "2130706433", "localhost", "127.0.0.1"])
def test_every_notation_of_loopback_is_rejected_by_its_resolved_address(form: str) -> None:
    """``getaddrinfo`` resolves all of them to 127.0.0.1; the rule checks the result."""
    with (
        pytest.raises(AddressForbidden),
        OutboundClient().exchange(OutboundRequest(OutboundTarget("http", form, 9, "/")), is_public, deadline_s=5),
    ):
        pass


def test_the_next_address_is_tried_if_one_is_unreachable(source: ImportSource, cert: Path) -> None:
    source.respond = http_response(b"hello")
    dead = ipaddress.ip_address("127.0.0.2")  # no server listens there
    assert fetch(OutboundClient(cert, resolve=lambda host: [dead, HERE]), source.url()) == b"hello"


def test_an_address_that_never_responds_leaves_time_for_the_next_one(source: ImportSource, cert: Path) -> None:
    """Such as an IPv6 address where packets of IPv6 are lost."""
    source.respond = http_response(b"hello")
    silent = ipaddress.ip_address("127.0.0.2")
    with open_unresponsive_port(str(silent), source.port):
        outbound = OutboundClient(cert, resolve=lambda host: [silent, HERE])
        assert fetch(outbound, source.url(), deadline_s=8) == b"hello"


def test_thousands_of_unreachable_addresses_end_at_the_deadline() -> None:
    with open_unresponsive_port() as port:
        began = time.monotonic()
        with pytest.raises(OutboundTimeout):
            fetch(OutboundClient(resolve=lambda host: [HERE] * 3000), f"http://files.example:{port}/", deadline_s=0.5)
        assert time.monotonic() - began < 5


@contextmanager
def open_unresponsive_port(address: str = "127.0.0.1", port: int = 0) -> Iterator[int]:
    """Yield a local port that never accepts a connection because its backlog is full."""
    with socket.socket() as listener, ExitStack() as held:
        listener.bind((address, port))
        listener.listen(0)
        place = listener.getsockname()
        for _ in range(4):
            waiting = held.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(place)
        yield place[1]


def test_system_resolve_returns_each_address_once() -> None:
    assert system_resolve("127.0.0.1") == [HERE]


@pytest.mark.parametrize("found", [[], OSError("unknown"), UnicodeError("label too long")])
def test_a_name_that_cannot_be_resolved_raises_outbound_error(cert: Path, found: list[Address] | Exception) -> None:
    def resolve(host: str) -> list[Address]:
        if isinstance(found, Exception):
            raise found
        return found

    with pytest.raises(OutboundError):
        fetch(OutboundClient(cert, resolve=resolve), "https://files.example/")


def test_a_proxy_of_the_environment_is_not_used(
    source: ImportSource, outbound: OutboundClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("https_proxy", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    source.respond = http_response(b"hello")
    assert fetch(outbound, source.url()) == b"hello"


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1\\@files.example/", "https://me@files.example/", "https://files.example/a b",
        "https://files.example/\t", "https://files.example/\n", "https://f\u00edles.example/", "ftp://files.example/",
        "https:///path", "https://files.example:0/", "https://files.example:99999/", "https://[::zz]/", "files.example",
    ],
)  # fmt: skip
def test_an_ambiguous_url_is_rejected(url: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_target(url)


@pytest.mark.parametrize(
    ("url", "target", "header"),
    [
        ("HTTPS://Files.Example", OutboundTarget("https", "files.example", 443, "/"), "files.example"),
        ("https://files.example:443/a?b=c#d", OutboundTarget("https", "files.example", 443, "/a?b=c"), "files.example"),
        ("http://files.example:8080?x", OutboundTarget("http", "files.example", 8080, "/?x"), "files.example:8080"),
        ("https://[2001:DB8::1]:8443/", OutboundTarget("https", "2001:db8::1", 8443, "/"), "[2001:db8::1]:8443"),
    ],
)
def test_a_url_is_parsed(url: str, target: OutboundTarget, header: str) -> None:
    assert parse_target(url) == target
    assert target.host_header == header


# --- TLS -------------------------------------------------------------------------------------------------------------


def test_a_certificate_of_another_name_is_rejected(source: ImportSource, outbound: OutboundClient) -> None:
    with pytest.raises(OutboundError, match="certificate"):
        fetch(outbound, source.url().replace("files.example", "other.example"))
    assert source.request_heads == []


def test_an_untrusted_certificate_is_rejected(source: ImportSource) -> None:
    with pytest.raises(OutboundError, match="certificate"):
        fetch(OutboundClient(resolve=lambda host: [HERE]), source.url())
    assert source.request_heads == []


def test_a_host_without_tls_is_an_error(outbound: OutboundClient) -> None:
    with open_source(None) as plain, pytest.raises(OutboundError):
        fetch(outbound, plain.url(), deadline_s=0.5)


def test_an_operator_url_may_use_http(outbound: OutboundClient) -> None:
    with open_source(None) as plain:
        plain.respond = http_response(b"hello")
        assert fetch(outbound, plain.url().replace("https:", "http:")) == b"hello"


# --- hostile hosts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 305, 306, 307, 308, 399])
def test_redirects_are_not_followed(source: ImportSource, outbound: OutboundClient, status: int) -> None:
    source.respond = http_response(b"", f"{status} Elsewhere", f"Location: {source.url('/other')}")
    with pytest.raises(OutboundRedirect) as caught:
        fetch(outbound, source.url())
    assert caught.value.status == status
    assert source.connections == 1


_OK = b"HTTP/1.1 200 OK\r\n"
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_PAUSE_S = 0.05
SLOW_RESPONSES: dict[str, Script] = {
    "silence": hold_connection,
    "header": endless_response(_OK, b"X", _PAUSE_S),
    "headers": endless_response(_OK, b"X: y\r\n", _PAUSE_S),
    "continue": endless_response(_CONTINUE, _CONTINUE, _PAUSE_S),
    "body": endless_response(_OK + b"Content-Length: 99999\r\n\r\n", b"x", _PAUSE_S),
    "open": endless_response(_OK + b"\r\n", b"x", _PAUSE_S),
    "chunks": endless_response(_OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n", _PAUSE_S),
}


@pytest.mark.parametrize("script", SLOW_RESPONSES.values(), ids=SLOW_RESPONSES)
def test_a_slow_host_is_cut_off_at_the_deadline(source: ImportSource, outbound: OutboundClient, script: Script) -> None:
    """The deadline covers the whole exchange; a socket timeout would restart with every byte."""
    source.respond = script
    began = time.monotonic()
    with pytest.raises(OutboundTimeout):
        fetch(outbound, source.url(), deadline_s=0.4)
    assert time.monotonic() - began < 3


def test_an_endless_handshake_is_cut_off_at_the_deadline(outbound: OutboundClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"https://files.example:{mute.getsockname()[1]}/"
        began = time.monotonic()
        with pytest.raises(OutboundTimeout):
            fetch(outbound, url, deadline_s=0.3)
        assert time.monotonic() - began < 3


def test_an_unresponsive_name_server_is_cut_off_at_the_deadline(cert: Path) -> None:
    over = threading.Event()

    def resolve(host: str) -> list[Address]:
        over.wait(10)
        return [HERE]

    began = time.monotonic()
    with pytest.raises(OutboundTimeout):
        fetch(OutboundClient(cert, resolve=resolve), "https://files.example/", deadline_s=0.3)
    over.set()
    assert time.monotonic() - began < 3


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
    ],
)
def test_an_endless_body_is_cut_off_at_the_limit(source: ImportSource, outbound: OutboundClient, head: bytes) -> None:
    """The limit applies while streaming, whatever length the headers declare."""
    source.respond = endless_response(head, b"x" * 65536)
    with pytest.raises(TooLarge):
        fetch(outbound, source.url())


def test_a_content_length_over_the_limit_is_rejected_before_the_body(
    source: ImportSource, outbound: OutboundClient
) -> None:
    source.respond = http_response(b"", length=MAX_BYTES + 1)
    with pytest.raises(TooLarge):
        fetch(outbound, source.url())


def test_a_body_of_exactly_the_limit_is_accepted(source: ImportSource, outbound: OutboundClient) -> None:
    source.respond = http_response(b"x" * MAX_BYTES)
    assert len(fetch(outbound, source.url())) == MAX_BYTES


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"",
    ],
    ids=["short", "cut chunk", "no chunk", "status", "long header", "many headers", "other protocol", "nothing"],
)
def test_a_truncated_or_malformed_response_is_an_error(
    source: ImportSource, outbound: OutboundClient, data: bytes
) -> None:
    """For example a wrong Content-Length, or huge headers."""
    source.respond = raw_response(data)
    with pytest.raises(OutboundError) as caught:
        fetch(outbound, source.url())
    assert not isinstance(caught.value, TooLarge)


@pytest.mark.parametrize("interim", [b"102 Processing", b"103 Early Hints\r\nLink: </a.css>; rel=preload"])
def test_interim_responses_are_skipped(source: ImportSource, outbound: OutboundClient, interim: bytes) -> None:
    """Only the final response decides, for example whether a delivery is repeated (RFC 9110, 15.2)."""
    head = b"HTTP/1.1 %b\r\n\r\n" % interim
    source.respond = raw_response(2 * head + b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
    assert fetch(outbound, source.url()) == b"hello"
    source.respond = raw_response(100 * head + b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
    with pytest.raises(OutboundError, match="does not use HTTP correctly"):
        fetch(outbound, source.url())


def test_a_body_without_length_must_end_with_a_tls_close(source: ImportSource, outbound: OutboundClient) -> None:
    """Without a length, only the TLS close distinguishes a complete body from a truncated one."""
    source.respond = raw_response(b"HTTP/1.1 200 OK\r\n\r\nhello")
    assert fetch(outbound, source.url()) == b"hello"

    def cut(sock: socket.socket) -> None:
        sock.sendall(b"HTTP/1.1 200 OK\r\n\r\nhello")
        socket.socket.shutdown(sock, socket.SHUT_RDWR)

    source.respond = cut
    with pytest.raises(OutboundError):
        fetch(outbound, source.url())


def test_the_error_for_a_closed_port_does_not_contain_the_address(outbound: OutboundClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(OutboundError) as caught:
        fetch(outbound, f"https://files.example:{port}/")
    assert "127" not in str(caught.value)


# --- requests with a body --------------------------------------------------------------------------------------------


def test_a_body_is_posted_and_only_the_start_of_the_response_is_read(
    source: ImportSource, outbound: OutboundClient
) -> None:
    source.respond = endless_response(b"HTTP/1.1 500 Oops\r\n\r\n", b"x" * 65536)
    request = OutboundRequest(
        parse_target(source.url()), "POST", {"Content-Type": "application/json", "Host": "other", "X-A": "b"}, b"{}"
    )
    with outbound.exchange(request, is_operator_allowed, deadline_s=5) as reply:
        assert reply.status == 500
        assert reply.read_head(64 * 1024) == b"x" * 65536
    lines = source.request_heads[0].decode().split("\r\n")
    assert lines[0] == "POST /deck.pdf HTTP/1.1"
    assert {"Content-Length: 2", "Content-Type: application/json", "X-A: b"} <= set(lines)
    assert [line for line in lines if line.startswith("Host:")] == [f"Host: {source.host}"]


def test_no_thread_keeps_running_after_an_exchange(source: ImportSource, outbound: OutboundClient) -> None:
    source.respond = http_response(b"hello")
    for _ in range(5):
        fetch(outbound, source.url(), deadline_s=60)
    for thread in threading.enumerate():
        if thread.name in ("watchdog", "resolve"):
            thread.join(5)
            assert not thread.is_alive()
