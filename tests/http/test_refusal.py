"""Rejections before the body: an unauthorized sender fills neither the disk nor the network."""

import http.client
import socket
from collections.abc import Callable
from contextlib import suppress

import pytest
from waitress.channel import ClientDisconnected

from docshare.server.http.connection_limits import Phase
from docshare.server.http.tasks import RefusalTask
from tests.http.harness import (
    MB,
    ListenerHarness,
    MonotonicClock,
    RawConnection,
    advance_time,
    build_form,
    build_part,
    build_request,
    build_upload,
    content_type_header,
    encode_chunks,
    wait_until,
)

HUGE = 200 * MB


def build_huge_head(path: str = "/refuse", *headers: str) -> bytes:
    return build_request("POST", path, b"", f"Content-Length: {HUGE}", content_type_header(), *headers)


def test_a_rejection_is_sent_before_the_body_arrives(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_huge_head())
        answer = wire.read_response()
        assert (answer.status, answer.body) == (401, b"who are you?")
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.headers["connection"] == "close"
        assert "server" not in answer.headers
        assert wire.read_to_end() == b""
    assert [(head.method, head.path, head.content_length, head.is_chunked) for head in listener.heads] == [
        ("POST", "/refuse", HUGE, False)
    ]
    assert listener.calls == []


def test_a_rejected_sender_does_not_get_100_continue(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_huge_head("/refuse", "Expect: 100-continue"))
        assert wire.read_response().status == 401
        assert wire.read_to_end() == b""


def test_an_accepted_sender_gets_100_continue(listener: ListenerHarness) -> None:
    body = build_form(build_part(b"%PDF-1.7"))
    with RawConnection(listener.port) as wire:
        wire.send(
            build_request(
                "POST", "/files", b"", f"Content-Length: {len(body)}", content_type_header(), "Expect: 100-continue"
            )
        )
        assert wire.read_response().status == 100
        wire.send(body)
        assert wire.read_response().facts["files"]["file"]["size"] == 8


def test_expect_100_continue_without_a_body_is_ignored(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_request("GET", "/x", b"", "Expect: 100-continue"))
        assert wire.read_response().facts["path"] == "/x"


def test_a_sender_that_ignores_the_rejection_can_send_only_a_little(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 * 1024)
        wire.send(build_huge_head())
        # The buffers of both kernels hold the bytes that the server has not read.
        assert wire.send_repeatedly(b"x" * 65536, HUGE) < 32 * MB
        assert wire.read_response().status == 401
    assert listener.list_partials() == []


def test_an_ordinary_client_reads_the_rejection_of_a_large_upload(listener: ListenerHarness) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", listener.port, timeout=20)
    with suppress(BrokenPipeError, ConnectionResetError):
        connection.request("POST", "/refuse", body=b"x" * (3 * MB), headers={"Content-Type": "application/pdf"})
    assert connection.getresponse().status == 401
    connection.close()


def test_the_rest_of_a_rejected_body_is_read_to_avoid_a_connection_reset(
    start_listener: Callable[..., ListenerHarness],
) -> None:
    listener = start_listener(clock=MonotonicClock())  # so that a client that pauses is not cut off
    body = build_form(build_part(b"x" * 300_000))
    with RawConnection(listener.port) as wire:
        wire.send(build_upload(body, "/refuse"))
        # The whole body has been sent before the response is read, and the connection still ends cleanly.
        assert wire.read_response().status == 401
        assert wire.socket.recv(1) == b""


def test_a_rejected_connection_that_stays_open_is_closed_soon(start_listener: Callable[..., ListenerHarness]) -> None:
    clock = MonotonicClock()
    listener = start_listener(clock=clock)
    with RawConnection(listener.port) as wire:
        wire.send(build_huge_head())
        wire.read_response()
        assert wait_until(lambda: listener.count_connections(Phase.LINGERING) == 1)

        def is_reset() -> bool:
            try:
                wire.socket.send(b"x")
            except OSError:
                return True
            return False

        advance_time(listener, clock, 2)
        assert not is_reset()
        advance_time(listener, clock, 1)
        assert wait_until(is_reset)


def test_a_rejected_upload_does_not_create_a_file(listener: ListenerHarness) -> None:
    opened: list[None] = []
    listener.create_partial = lambda: opened.append(None)
    with RawConnection(listener.port) as wire:
        wire.send(build_upload(build_form(build_part(b"%PDF-1.7")), "/refuse"))
        assert wire.read_response().status == 401
    assert opened == []


def test_bytes_after_a_rejected_body_are_not_parsed_as_a_request(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_request("POST", "/refuse", build_request("GET", "/hidden")) + build_request("GET", "/hidden"))
        assert wire.read_response().status == 401
        assert wire.read_to_end() == b""
    assert [head.path for head in listener.heads] == ["/refuse"]


def test_rejecting_a_request_without_a_body_keeps_the_connection_open(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        for _ in range(3):
            wire.send(build_request("GET", "/refuse"))
            answer = wire.read_response()
            assert (answer.status, answer.headers.get("connection")) == (401, None)


def test_the_response_to_a_rejected_head_request_has_no_body(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_request("HEAD", "/refuse") + build_request("GET", "/x"))
        answer = wire.read_response("HEAD")
        assert (answer.status, answer.headers["content-length"]) == (401, "12")
        assert wire.read_response().facts["path"] == "/x"


def test_rejections_of_pipelined_requests_are_sent_in_order(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(
            build_request("GET", "/a")
            + build_request("GET", "/refuse")
            + build_request("POST", "/b", b"b")
            + build_huge_head()
        )
        assert wire.read_response().facts["path"] == "/a"
        assert wire.read_response().status == 401
        assert wire.read_response().facts["body"] == "b"
        assert wire.read_response().status == 401
        assert wire.read_to_end() == b""


def test_a_content_length_over_the_limit_gets_the_response_of_the_judge(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_huge_head("/files"))
        answer = wire.read_response()
        assert (answer.status, answer.body) == (413, b"more than the plan allows")
        assert answer.headers["x-plan"] == "free"
    assert listener.calls == []


def test_a_content_length_over_a_limit_without_its_own_response_is_a_rendered_413(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_huge_head("/elsewhere"))
        answer = wire.read_response()
        assert (answer.status, answer.facts["path"]) == (413, "/elsewhere")
        assert answer.headers["x-rendered"] == "yes"


def test_a_failing_judge_is_500(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_upload(build_form(build_part(b"%PDF-1.7")), "/broken-judge"))
        answer = wire.read_response()
        assert (answer.status, answer.facts["path"]) == (500, "/broken-judge")
    assert listener.calls == []


def test_an_error_that_cannot_be_rendered_is_sent_as_plain_text(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(b"GET /broken-pen HTTP/3\r\n\r\n")
        answer = wire.read_response()
        assert (answer.status, answer.headers["content-type"]) == (400, "text/plain; charset=utf-8")


def test_a_rejection_with_an_invalid_header_is_500(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_request("GET", "/unwritable"))
        assert wire.read_response().status == 500


def test_a_failing_application_is_a_rendered_500(listener: ListenerHarness, caplog: pytest.LogCaptureFixture) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_request("GET", "/boom"))
        answer = wire.read_response()
        assert (answer.status, answer.facts["path"]) == (500, "/boom")
        assert answer.headers["connection"] == "close"
    assert "/boom" not in caplog.text.replace('path == "/boom"', "")


def test_the_judge_checks_each_request_once(listener: ListenerHarness) -> None:
    body = build_form(build_part(b"x" * 100_000))
    with RawConnection(listener.port) as wire:
        raw = build_upload(body)
        for at in range(0, len(raw), 1000):
            wire.send(raw[at : at + 1000])
        assert wire.read_response().status == 200
        wire.send(build_request("POST", "/x", b"", "Transfer-Encoding: chunked") + encode_chunks(b"hello", 1))
        assert wire.read_response().status == 200
    assert [(head.path, head.is_chunked, head.content_length) for head in listener.heads] == [
        ("/files", False, len(body)),
        ("/x", True, None),
    ]


def test_a_client_that_disconnects_during_a_rejection_leaves_no_traceback(
    listener: ListenerHarness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def disconnect(task: RefusalTask) -> None:
        raise ClientDisconnected

    monkeypatch.setattr(RefusalTask, "execute", disconnect)
    with RawConnection(listener.port) as wire:
        wire.send(b"GET /s/secret\n")
        assert wire.read_to_end() == b""
    assert wait_until(lambda: len(listener.server.limiter) == 0)
    assert "secret" not in caplog.text
    assert not any(record.exc_info for record in caplog.records)
