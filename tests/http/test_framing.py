"""Ambiguous message framing: one error response, a closed connection, and nothing for the application."""

import time
from types import SimpleNamespace

import pytest

from docshare.server.http import framing
from tests.http.harness import SMALL_BODY, ListenerHarness, RawConnection, build_request, encode_chunks

# A request that an attacker smuggles after the rejected one.
SMUGGLED = b"GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n"


def build_post(*lines: str, first: str = "POST /x HTTP/1.1", host: str = "Host: localhost", body: str = "") -> bytes:
    return "\r\n".join([first, *([host] if host else []), *lines, "", body]).encode("latin-1")


BAD_HEADS = {
    "two Transfer-Encoding": (
        build_post("Transfer-Encoding: chunked", "Transfer-Encoding: chunked", body="0\r\n\r\n"),
        400,
    ),
    "chunked twice in one": (build_post("Transfer-Encoding: chunked, chunked", body="0\r\n\r\n"), 400),
    "TE then CL": (build_post("Transfer-Encoding: chunked", "Content-Length: 5", body="0\r\n\r\n"), 400),
    "CL then TE": (build_post("Content-Length: 5", "Transfer-Encoding: chunked", body="0\r\n\r\n"), 400),
    "CL zero with TE": (build_post("Content-Length: 0", "Transfer-Encoding: chunked", body="0\r\n\r\n"), 400),
    "identity": (build_post("Transfer-Encoding: identity", body="0\r\n\r\n"), 501),
    "identity then chunked": (build_post("Transfer-Encoding: identity", "Transfer-Encoding: chunked"), 400),
    "gzip, chunked": (build_post("Transfer-Encoding: gzip, chunked", body="0\r\n\r\n"), 501),
    "chunked, gzip": (build_post("Transfer-Encoding: chunked, gzip", body="0\r\n\r\n"), 501),
    "xchunked": (build_post("Transfer-Encoding: xchunked", body="0\r\n\r\n"), 501),
    "quoted chunked": (build_post('Transfer-Encoding: "chunked"', body="0\r\n\r\n"), 501),
    "chunked with parameter": (build_post("Transfer-Encoding: chunked;q=1", body="0\r\n\r\n"), 501),
    "empty Transfer-Encoding": (build_post("Transfer-Encoding:", body="0\r\n\r\n"), 400),
    "comma in Transfer-Encoding": (build_post("Transfer-Encoding: ,chunked", body="0\r\n\r\n"), 400),
    "vertical tab before chunked": (build_post("Transfer-Encoding: \x0bchunked", body="0\r\n\r\n"), 400),
    "no-break space after chunked": (build_post("Transfer-Encoding: chunked\xa0", body="0\r\n\r\n"), 501),
    "space before colon": (build_post("Transfer-Encoding : chunked", body="0\r\n\r\n"), 400),
    "tab before colon": (build_post("Transfer-Encoding\t: chunked", body="0\r\n\r\n"), 400),
    "folded header": (build_post("X-A: b", " Transfer-Encoding: chunked", body="0\r\n\r\n"), 400),
    "folded Transfer-Encoding": (build_post("Transfer-Encoding:", "\tchunked", body="0\r\n\r\n"), 400),
    "fold on the first header": (build_post(" X: y", host=""), 400),
    "Transfer_Encoding": (build_post("Transfer_Encoding: chunked", body="0\r\n\r\n"), 400),
    "Content_Length": (build_post("Content_Length: 5", body="hello"), 400),
    "TE in HTTP/1.0": (build_post("Transfer-Encoding: chunked", first="POST /x HTTP/1.0", body="0\r\n\r\n"), 400),
    "two equal Content-Length": (build_post("Content-Length: 5", "Content-Length: 5", body="hello"), 400),
    "two Content-Length": (build_post("Content-Length: 5", "Content-Length: 0", body="hello"), 400),
    "list of Content-Length": (build_post("Content-Length: 5, 5", body="hello"), 400),
    "plus sign": (build_post("Content-Length: +5", body="hello"), 400),
    "minus sign": (build_post("Content-Length: -5", body="hello"), 400),
    "hexadecimal length": (build_post("Content-Length: 0x5", body="hello"), 400),
    "inner space": (build_post("Content-Length: 5 5", body="hello"), 400),
    "underscore in length": (build_post("Content-Length: 1_0", body="hello"), 400),
    "empty Content-Length": (build_post("Content-Length:", body="hello"), 400),
    "other digits": (build_post("Content-Length: \xb2", body="hello"), 400),
    "19 digits": (build_post("Content-Length: " + "9" * 19), 413),
    "5,000 digits": (build_post("Content-Length: " + "9" * 5000), 413),
    "no Host": (build_post(host=""), 400),
    "two Host": (build_post("Host: evil"), 400),
    "two equal Host": (build_post("Host: localhost"), 400),
    "two in one Host": (build_post(host="Host: a, b"), 400),
    "Host with space": (build_post(host="Host: a b"), 400),
    "Host with slash": (build_post(host="Host: a/b"), 400),
    "Host with user": (build_post(host="Host: a@b"), 400),
    "Host with word as port": (build_post(host="Host: a:http"), 400),
    "empty Host": (build_post(host="Host:"), 400),
    "two Host in HTTP/1.0": (build_post("Host: evil", first="POST /x HTTP/1.0"), 400),
    "no version": (build_post(first="GET /x"), 400),
    "HTTP/2.0": (build_post(first="GET /x HTTP/2.0"), 400),
    "HTTP/1.2": (build_post(first="GET /x HTTP/1.2"), 400),
    "HTTP/1.10": (build_post(first="GET /x HTTP/1.10"), 400),
    "lower-case version": (build_post(first="GET /x http/1.1"), 400),
    "two spaces": (build_post(first="GET  /x HTTP/1.1"), 400),
    "space in the address": (build_post(first="GET /x y HTTP/1.1"), 400),
    "tab as separator": (build_post(first="GET\t/x\tHTTP/1.1"), 400),
    "trailing space": (build_post(first="GET /x HTTP/1.1 "), 400),
    "lower-case method": (build_post(first="get /x HTTP/1.1"), 400),
    "control character in the address": (build_post(first="GET /x\x01 HTTP/1.1"), 400),
    "raw bytes in the address": (build_post(first="GET /\xe9 HTTP/1.1"), 400),
    "fragment": (build_post(first="GET /x#y HTTP/1.1"), 400),
    "relative address": (build_post(first="GET x HTTP/1.1"), 400),
    "other scheme": (build_post(first="GET ftp://localhost/x HTTP/1.1"), 400),
    "CONNECT": (build_post(first="CONNECT localhost:80 HTTP/1.1"), 400),
    "asterisk without OPTIONS": (build_post(first="GET * HTTP/1.1"), 400),
    "HTTP/2 preface": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "TLS": (bytes.fromhex("16030100c8010000c40303") + b"\x00" * 64, 400),
    "space first": (b" " + build_post(), 400),
    "two empty lines first": (b"\r\n\r\n" + build_post(), 400),
    "bare LF": (b"POST /x HTTP/1.1\nHost: localhost\n\n", 400),
    "bare LF in one line": (b"POST /x HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n", 400),
    "bare CR": (b"POST /x HTTP/1.1\r\nHost: localhost\rX: y\r\n\r\n", 400),
    "NUL": (build_post("X: a\x00b"), 400),
    "DEL": (build_post("X: a\x7fb"), 400),
    "no colon": (build_post("Nonsense"), 400),
    "no name": (build_post(": value"), 400),
    "space in a name": (build_post("X Y: z"), 400),
    "101 header fields": (build_post(*(f"X-{number}: y" for number in range(100))), 431),
    "a request line of 17 kB": (build_post(first=f"GET /{'y' * 17_000} HTTP/1.1"), 431),
    "headers too long": (build_post(*(f"X-{number}: {'y' * 1000}" for number in range(70))), 431),
    "endless request line": (b"GET /" + b"y" * 70_000, 431),
    "endless header": (b"POST /x HTTP/1.1\r\nX: " + b"y" * 70_000, 431),
}


@pytest.mark.parametrize("name", BAD_HEADS)
def test_an_invalid_head_gets_one_response_and_closes_the_connection(listener: ListenerHarness, name: str) -> None:
    raw, status = BAD_HEADS[name]
    with RawConnection(listener.port) as wire:
        wire.send(raw + SMUGGLED)
        answer = wire.read_response()
        assert (answer.status, answer.facts["status"]) == (status, status)
        assert answer.headers["connection"] == "close"
        assert wire.read_to_end() == b""
    assert listener.heads == []
    assert listener.calls == []


BAD_CHUNKS = {
    "hexadecimal prefix": b"0x5\r\nhello\r\n0\r\n\r\n",
    "minus sign": b"-5\r\nhello\r\n0\r\n\r\n",
    "plus sign": b"+5\r\nhello\r\n0\r\n\r\n",
    "space before the size": b" 5\r\nhello\r\n0\r\n\r\n",
    "space after the size": b"5 \r\nhello\r\n0\r\n\r\n",
    "underscore": b"0_5\r\nhello\r\n0\r\n\r\n",
    "no size": b"\r\nhello\r\n0\r\n\r\n",
    "only an extension": b";a=b\r\nhello\r\n0\r\n\r\n",
    "bare LF after the size": b"5\nhello\r\n0\r\n\r\n",
    "bare LF in an extension": b"5;a\nb\r\nhello\r\n0\r\n\r\n",
    "bare CR in an extension": b"5;a\rb\r\nhello\r\n0\r\n\r\n",
    "chunk longer than its size": b"5\r\nhello!\r\n0\r\n\r\n",
    "chunk ends in LF": b"5\r\nhello\n0\r\n\r\n",
    "size of 16 digits": b"fffffffffffffffff\r\nhello\r\n0\r\n\r\n",
    "endless size": b"0" * 300,
    "endless extension": b"5;" + b"a" * 300,
    "request as trailer": b"0\r\nGET /hidden HTTP/1.1\r\nHost: x\r\n\r\n",
    "folded trailer": b"0\r\nA: b\r\n c\r\n\r\n",
    "endless trailer": b"0\r\n" + b"A: b\r\n" * 2000,
    "flood of tiny chunks": b"1\r\nx\r\n" * 40_000 + b"0\r\n\r\n",
}


@pytest.mark.parametrize("name", BAD_CHUNKS)
def test_an_invalid_chunk_gets_one_response_and_closes_the_connection(listener: ListenerHarness, name: str) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_post("Transfer-Encoding: chunked") + BAD_CHUNKS[name] + SMUGGLED)
        answer = wire.read_response()
        assert answer.status == 400
        assert answer.headers["connection"] == "close"
        assert wire.read_to_end() == b""
    assert len(listener.heads) == 1
    assert listener.calls == []


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_a_chunked_body_arrives_intact_in_blocks_of_any_size(listener: ListenerHarness, size: int) -> None:
    body = bytes(range(256)) * 4
    raw = build_post("Transfer-Encoding: chunked") + encode_chunks(body, 100)
    with RawConnection(listener.port) as wire:
        for at in range(0, len(raw), size):
            wire.send(raw[at : at + size])
        assert wire.read_response().facts["body"].encode("latin-1") == body


def test_extensions_and_trailers_of_a_chunked_body_are_dropped(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        body = b'5;a="b;c"\r\nhello\r\n0;z\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n'
        wire.send(build_post("Transfer-Encoding: chunked") + body + build_request("GET", "/next"))
        assert wire.read_response().facts["body"] == "hello"
        assert wire.read_response().facts["path"] == "/next"
    assert "HTTP_X_SUM" not in listener.environs[0]
    assert "HTTP_TRANSFER_ENCODING" not in listener.environs[0]
    assert listener.environs[0]["CONTENT_LENGTH"] == "5"


def test_a_chunked_body_over_its_limit_is_413(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_post("Transfer-Encoding: chunked") + encode_chunks(b"x" * (SMALL_BODY + 1), 1000))
        assert wire.read_response().status == 413
    assert listener.calls == []


def test_http_1_0_does_not_require_a_host(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(b"GET /old HTTP/1.0\r\n\r\n")
        assert wire.read_response().facts["path"] == "/old"
        assert wire.read_to_end() == b""


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1:8787", "[::1]:8787", "docs.example.org.", "xn--bcher-kva.example"]
)
def test_ordinary_hosts_are_accepted(listener: ListenerHarness, host: str) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(f"GET /x HTTP/1.1\r\nhOSt:{host}   \r\n\r\n".encode())
        assert wire.read_response().status == 200
    assert listener.heads[0].headers["host"] == host


def test_an_empty_line_before_a_request_is_skipped(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(b"\r\n" + build_request("POST", "/x", b"hello") + b"\r\n" + build_request("GET", "/y"))
        assert wire.read_response().facts["body"] == "hello"
        assert wire.read_response().facts["path"] == "/y"


def test_an_absolute_request_target_is_checked_by_its_path(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_request("GET", "http://evil.example/refuse?x=1"))
        assert wire.read_response().status == 401
    assert (listener.heads[0].path, listener.heads[0].query) == ("/refuse", "x=1")


@pytest.mark.parametrize("target", ["//refuse", "/%72efuse", "///refuse?x", "http://h//refuse"])
def test_judge_and_application_see_the_same_path(listener: ListenerHarness, target: str) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_request("GET", target))
        assert wire.read_response().status == 401


def test_repeated_headers_are_joined_for_the_judge(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_request("GET", "/x", b"", "Authorization: Bearer a", "AUTHORIZATION: Bearer b", "X_Y: z"))
        wire.read_response()
    assert listener.heads[0].headers["authorization"] == "Bearer a, Bearer b"
    assert listener.heads[0].peer == "127.0.0.1"
    assert not [name for name in listener.heads[0].headers if "x" in name]


def test_an_error_contains_the_path_if_it_is_readable(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_post("Content-Length: x", first="POST /api/v1/f%69les?secret=1 HTTP/1.1"))
        assert wire.read_response().facts["path"] == "/api/v1/files"
    with RawConnection(listener.port) as wire:
        wire.send(b"\x16\x03\x01")
        assert wire.read_response().facts["path"] is None


@pytest.mark.parametrize("after", range(5))
def test_a_head_may_end_across_parts(listener: ListenerHarness, after: int) -> None:
    """``after``: bytes of its end that are in the second part; the listener parses a head in parts of 8 KiB."""
    head = build_request("GET", "/x", b"", "X: ")
    head = head.replace(b"X: ", b"X: " + b"y" * (8192 + after - len(head)))
    with RawConnection(listener.port) as wire:
        wire.send(head + build_request("GET", "/next"))
        assert [wire.read_response().status for _ in range(2)] == [200, 200]
    assert listener.calls == ["/x", "/next"]


@pytest.mark.parametrize(("end", "status"), [(b"\n", 400), (b"\r\n", 431)])
def test_a_bare_line_feed_is_rejected_before_the_head_is_complete(
    listener: ListenerHarness, end: bytes, status: int
) -> None:
    """The line feed is the first byte of the second part, and no other follows."""
    head = b"GET /x HTTP/1.1\r\nX: "
    with RawConnection(listener.port) as wire:
        wire.send(head + b"y" * (8193 - len(head) - len(end)) + end + b"Y: " + b"y" * 70_000)
        assert wire.read_response().status == status


def test_white_space_around_a_value_is_parsed_quickly(listener: ListenerHarness) -> None:
    begun = time.process_time()
    with RawConnection(listener.port) as wire:
        wire.send(build_request("GET", "/x", b"", "X: " + " " * 60_000 + "a", "Y:" + "\t " * 100 + "b"))
        assert wire.read_response().status == 200
    assert time.process_time() - begun < 3
    assert listener.heads[0].headers["x"] == "a"


def test_a_request_line_without_an_end_is_not_searched_for_its_path(
    listener: ListenerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Matching the pattern takes five milliseconds, so hundreds of such requests would block the server."""
    searched: list[int] = []
    pattern = framing._LENIENT_REQUEST_LINE
    fake = SimpleNamespace(match=lambda head: searched.append(len(head)) or pattern.match(head))
    monkeypatch.setattr(framing, "_LENIENT_REQUEST_LINE", fake)
    with RawConnection(listener.port) as wire:
        wire.send(b"GET /" + b"y" * 70_000)
        assert wire.read_response().status == 431
    assert searched == []
