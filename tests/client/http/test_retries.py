"""Which failed calls are retried, how long the client waits, and what it reports meanwhile."""

from __future__ import annotations

import io
from collections.abc import Callable
from email.utils import formatdate

import pytest

from docshare.client import Client
from docshare.client.errors import ConnectionLost, RateLimited, Refused
from tests.support.outside.fake_api import BASE, UUID, FakeApi, FakeResponse, FakeTime, problem

Connect = Callable[..., Client]
OK = {"tier": "pro"}


@pytest.mark.parametrize(
    ("headers", "slept"),
    [
        ({"Retry_After": "23"}, [23.0]),
        ({"Retry_After": formatdate(BASE + 23, usegmt=True)}, [23.0]),
        ({"RateLimit": '"default";r=0;t=17'}, [17.0]),
        ({"RateLimit": "limit=120, remaining=0, reset=11"}, [11.0]),
        ({"X_RateLimit_Remaining": "0", "X_RateLimit_Reset": "9"}, [9.0]),
        ({"X_RateLimit_Remaining": "0", "X_RateLimit_Reset": str(int(BASE) + 31)}, [31.0]),
        ({}, [1.0]),
        ({"Retry_After": "0"}, [1.0]),
        ({"Retry_After": "soon"}, [1.0]),
    ],
)
def test_a_429_is_retried_after_the_wait_named_by_the_server(
    api: FakeApi, client: Client, time: FakeTime, headers: dict[str, str], slept: list[float]
) -> None:
    api.on("GET", "/user", problem(429, "rate_limited", **headers), OK)
    assert client.account.show() == OK
    assert time.waits == slept


def test_waits_not_named_by_the_server_double_with_jitter(api: FakeApi, time: FakeTime) -> None:
    api.on("GET", "/user", *[problem(429, "rate_limited")] * 6, OK)
    Client(api.url, "k" * 32, clock=time.make_clock(chance=0.75)).account.show()
    assert time.waits == [0.75, 1.5, 3.0, 6.0, 6.0, 6.0]


def test_a_429_with_zero_retry_after_still_waits(api: FakeApi, time: FakeTime) -> None:
    api.on("GET", "/user", problem(429, "rate_limited", Retry_After="0"), OK)
    Client(api.url, "k" * 32, clock=time.make_clock(chance=0.0)).account.show()
    assert time.waits == [0.5]


def test_the_client_gives_up_before_the_total_wait_exceeds_max_wait(
    api: FakeApi, connect: Connect, time: FakeTime
) -> None:
    api.on("GET", "/user", problem(429, "rate_limited", Retry_After="50"))
    with pytest.raises(RateLimited) as caught:
        connect(max_wait=120).account.show()
    assert time.waits == [50.0, 50.0]
    assert caught.value.retry_after == 50.0


def test_on_wait_receives_the_reason_and_length_of_each_wait(api: FakeApi, connect: Connect) -> None:
    api.on("GET", "/user", problem(429, "rate_limited", Retry_After="23"), problem(503, "unavailable"), OK)
    announced_waits: list[tuple[str, float]] = []
    connect(on_wait=lambda why, seconds: announced_waits.append((why, seconds))).account.show()
    assert announced_waits == [("rate limited", 23.0), ("the server answered 503", 2.0)]


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_server_error_is_retried_three_times(api: FakeApi, client: Client, time: FakeTime, status: int) -> None:
    api.on("GET", "/user", problem(status, "internal"))
    with pytest.raises(Refused):
        client.account.show()
    assert len(api.requests) == 4
    assert time.waits == [1.0, 2.0, 4.0]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 413, 422, 501])
def test_a_client_error_is_not_retried(api: FakeApi, client: Client, status: int) -> None:
    api.on("GET", "/user", problem(status, "x"))
    with pytest.raises(Refused):
        client.account.show()
    assert len(api.requests) == 1


@pytest.mark.parametrize(
    "answer", [problem(429, "rate_limited"), problem(503, "unavailable"), FakeResponse(connection_action="drop")]
)
def test_zero_retries_means_one_request_and_no_wait(
    api: FakeApi, connect: Connect, time: FakeTime, answer: FakeResponse
) -> None:
    api.on("GET", "/user", answer)
    with pytest.raises((Refused, ConnectionLost)):
        connect(retries=0).account.show()
    assert len(api.requests) == 1
    assert time.waits == []


@pytest.mark.parametrize("then", ["drop", "reset"])
def test_an_idempotent_request_is_retried_after_a_broken_connection(api: FakeApi, client: Client, then: str) -> None:
    api.on("DELETE", f"/files/{UUID.format(1)}", FakeResponse(connection_action=then), {"trashed": False})
    assert client.files.delete(UUID.format(1)) == {"trashed": False}


@pytest.mark.parametrize("refusal", [problem(503, "unavailable", Retry_After="2"), problem(429, "rate_limited")])
def test_an_upload_is_resent_from_its_first_byte_after_a_busy_response(
    api: FakeApi, client: Client, refusal: FakeResponse
) -> None:
    api.on("POST", "/files", refusal, {"uuid": UUID.format(1), "shareUrl": "x"})
    sent: list[int] = []
    content = b"%PDF-" + bytes(700_000)
    client.files.upload(io.BytesIO(content), "a.pdf", progress=sent.append)
    assert [request.part() for request in api.list_requests("POST", "/files")] == [("a.pdf", content)] * 2
    assert sent == [0, 262_144, 524_288, 700_005] * 2


@pytest.mark.parametrize("status", [500, 400, 422])
def test_an_upload_rejected_by_the_server_is_not_retried(api: FakeApi, client: Client, status: int) -> None:
    api.on("POST", "/files", problem(status, "x"))
    with pytest.raises(Refused):
        client.files.upload(io.BytesIO(b"%PDF-"), "a.pdf")
    assert len(api.requests) == 1


def test_an_upload_interrupted_halfway_is_resent(api: FakeApi, client: Client) -> None:
    content = bytes(5_000_000)
    api.on(
        "POST",
        "/files",
        FakeResponse(read_bytes=1000, connection_action="reset"),
        {"uuid": UUID.format(1), "shareUrl": "x"},
    )
    client.files.upload(io.BytesIO(content), "a.pdf")
    assert [len(request.body) > 5_000_000 for request in api.list_requests("POST", "/files")] == [False, True]
    assert api.list_requests("GET", "/files") == []


def test_repeated_disconnects_during_an_upload_hint_at_the_size_limit(api: FakeApi, client: Client) -> None:
    api.on("POST", "/files", FakeResponse(read_bytes=1000, connection_action="reset"))
    with pytest.raises(ConnectionLost) as caught:
        client.files.upload(io.BytesIO(bytes(5_000_000)), "a.pdf")
    assert "larger than the plan allows" in caught.value.hint
    assert len(api.requests) == 4


@pytest.mark.parametrize("size", [100_000, 30_000_000])
def test_a_413_sent_before_the_body_was_read_is_reported(api: FakeApi, client: Client, size: int) -> None:
    refusal = problem(413, "payload_too_large", "20 MB at most")
    refusal.read_bytes, refusal.connection_action = 0, "close"
    api.on("POST", "/files", refusal)
    with pytest.raises((Refused, ConnectionLost)) as caught:
        client.files.upload(io.BytesIO(bytes(size)), "a.pdf")
    # A reset can overtake the response on a loopback interface; then the hint must still name the likely reason.
    if isinstance(caught.value, Refused):
        assert caught.value.code == "payload_too_large"
    else:
        assert "larger than the plan allows" in caught.value.hint
