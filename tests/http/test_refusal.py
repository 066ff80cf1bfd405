"""Answers before the body: nobody fills the disk or the line who was not let in."""

import http.client
import socket
from contextlib import suppress

import pytest
from waitress.channel import ClientDisconnected

from docshare.server.http.channel import RefusalTask
from tests.http.harness import (
    MB,
    ListenerHarness,
    RawConnection,
    build_form,
    build_part,
    build_request,
    build_upload,
    encode_chunks,
    form_content_type,
    wait_until,
)

HUGE = 200 * MB


def build_huge_head(path: str = "/refuse", *headers: str) -> bytes:
    return build_request("POST", path, b"", f"Content-Length: {HUGE}", form_content_type(), *headers)


def test_a_refusal_is_answered_before_any_of_the_body_is_sent(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_huge_head())
        answer = wire.read_answer()
        assert (answer.status, answer.body) == (401, b"who are you?")
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.headers["connection"] == "close"
        assert "server" not in answer.headers
        assert wire.read_to_end() == b""
    assert [(head.method, head.path, head.content_length, head.is_chunked) for head in listener.heads] == [
        ("POST", "/refuse", HUGE, False)
    ]
    assert listener.calls == []


def test_a_sender_who_waits_for_100_continue_gets_the_refusal_instead(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_huge_head("/refuse", "Expect: 100-continue"))
        assert wire.read_answer().status == 401
        assert wire.read_to_end() == b""


def test_a_sender_who_waits_for_100_continue_and_is_let_in_gets_it(listener: ListenerHarness) -> None:
    body = build_form(build_part(b"%PDF-1.7"))
    with RawConnection(listener.port) as wire:
        wire.send(
            build_request(
                "POST", "/files", b"", f"Content-Length: {len(body)}", form_content_type(), "Expect: 100-continue"
            )
        )
        assert wire.read_answer().status == 100
        wire.send(body)
        assert wire.read_answer().facts["files"]["file"]["size"] == 8


def test_waiting_for_100_continue_without_a_body_changes_nothing(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_request("GET", "/x", b"", "Expect: 100-continue"))
        assert wire.read_answer().facts["path"] == "/x"


def test_a_sender_who_never_looks_up_reads_the_refusal_and_gets_rid_of_little(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 * 1024)
        wire.send(build_huge_head())
        # What left this side and never reached the server's program lies in the buffers of the two kernels.
        assert wire.send_repeatedly(b"x" * 65536, HUGE) < 32 * MB
        assert wire.read_answer().status == 401
    assert listener.list_partials() == []


def test_an_ordinary_client_sees_the_refusal_of_a_large_upload(listener: ListenerHarness) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", listener.port, timeout=20)
    with suppress(BrokenPipeError, ConnectionResetError):
        connection.request("POST", "/refuse", body=b"x" * (3 * MB), headers={"Content-Type": "application/pdf"})
    assert connection.getresponse().status == 401
    connection.close()


def test_the_end_of_a_refused_body_is_read_so_that_no_reset_destroys_the_answer(listener: ListenerHarness) -> None:
    body = build_form(build_part(b"x" * 300_000))
    with RawConnection(listener.port) as wire:
        wire.send(build_upload(body, "/refuse"))
        # All of the body has left before the first look at the answer, and still it ends in order.
        assert wire.read_answer().status == 401
        assert wire.socket.recv(1) == b""


def test_a_refused_connection_that_is_left_open_is_closed_soon(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_huge_head())
        wire.read_answer()
        wire.socket.settimeout(6)

        def reset() -> bool:
            try:
                wire.socket.send(b"x")
            except OSError:
                return True
            return False

        assert wait_until(reset, 6)


def test_a_refused_upload_opens_no_file(listener: ListenerHarness) -> None:
    opened: list[None] = []
    listener.parts = lambda: opened.append(None)
    with RawConnection(listener.port) as wire:
        wire.send(build_upload(build_form(build_part(b"%PDF-1.7")), "/refuse"))
        assert wire.read_answer().status == 401
    assert opened == []


def test_nothing_behind_a_refused_body_is_taken_for_a_request(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_request("POST", "/refuse", build_request("GET", "/hidden")) + build_request("GET", "/hidden"))
        assert wire.read_answer().status == 401
        assert wire.read_to_end() == b""
    assert [head.path for head in listener.heads] == ["/refuse"]


def test_a_refusal_without_a_body_leaves_the_connection_open(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        for _ in range(3):
            wire.send(build_request("GET", "/refuse"))
            answer = wire.read_answer()
            assert (answer.status, answer.headers.get("connection")) == (401, None)


def test_a_refused_head_request_is_answered_without_a_body(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_request("HEAD", "/refuse") + build_request("GET", "/x"))
        answer = wire.read_answer("HEAD")
        assert (answer.status, answer.headers["content-length"]) == (401, "12")
        assert wire.read_answer().facts["path"] == "/x"


def test_refusals_keep_their_place_among_pipelined_requests(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(
            build_request("GET", "/a")
            + build_request("GET", "/refuse")
            + build_request("POST", "/b", b"b")
            + build_huge_head()
        )
        assert wire.read_answer().facts["path"] == "/a"
        assert wire.read_answer().status == 401
        assert wire.read_answer().facts["body"] == "b"
        assert wire.read_answer().status == 401
        assert wire.read_to_end() == b""


def test_a_declared_length_beyond_the_limit_gets_the_judges_answer_at_once(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_huge_head("/files"))
        answer = wire.read_answer()
        assert (answer.status, answer.body) == (413, b"more than the plan allows")
        assert answer.headers["x-plan"] == "free"
    assert listener.calls == []


def test_a_declared_length_beyond_a_limit_without_an_answer_of_its_own_is_drawn(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_huge_head("/elsewhere"))
        answer = wire.read_answer()
        assert (answer.status, answer.facts["path"]) == (413, "/elsewhere")
        assert answer.headers["x-drawn"] == "yes"


def test_a_judge_that_fails_lets_nobody_in(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_upload(build_form(build_part(b"%PDF-1.7")), "/broken-judge"))
        answer = wire.read_answer()
        assert (answer.status, answer.facts["path"]) == (500, "/broken-judge")
    assert listener.calls == []


def test_an_error_that_cannot_be_drawn_is_still_answered(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(b"GET /broken-pen HTTP/3\r\n\r\n")
        answer = wire.read_answer()
        assert (answer.status, answer.headers["content-type"]) == (400, "text/plain; charset=utf-8")


def test_a_refusal_that_fits_no_header_block_is_a_500(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_request("GET", "/unwritable"))
        assert wire.read_answer().status == 500


def test_an_application_that_fails_is_a_drawn_500(listener: ListenerHarness, caplog: pytest.LogCaptureFixture) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_request("GET", "/boom"))
        answer = wire.read_answer()
        assert (answer.status, answer.facts["path"]) == (500, "/boom")
        assert answer.headers["connection"] == "close"
    assert "/boom" not in caplog.text.replace('path == "/boom"', "")


def test_each_request_is_judged_once(listener: ListenerHarness) -> None:
    body = build_form(build_part(b"x" * 100_000))
    with RawConnection(listener.port) as wire:
        raw = build_upload(body)
        for at in range(0, len(raw), 1000):
            wire.send(raw[at : at + 1000])
        assert wire.read_answer().status == 200
        wire.send(build_request("POST", "/x", b"", "Transfer-Encoding: chunked") + encode_chunks(b"hello", 1))
        assert wire.read_answer().status == 200
    assert [(head.path, head.is_chunked, head.content_length) for head in listener.heads] == [
        ("/files", False, len(body)),
        ("/x", True, None),
    ]


def test_a_client_that_leaves_during_a_refusal_leaves_neither_a_traceback_nor_a_connection(
    listener: ListenerHarness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def leave(task: RefusalTask) -> None:
        raise ClientDisconnected

    monkeypatch.setattr(RefusalTask, "execute", leave)
    with RawConnection(listener.port) as wire:
        wire.send(b"GET /s/secret\n")
        assert wire.read_to_end() == b""
    assert wait_until(lambda: len(listener.server.limiter) == 0)
    assert "secret" not in caplog.text
    assert not any(record.exc_info for record in caplog.records)
