"""Rate-limit headers in every format that servers send, and how bulk commands stay below the limit."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from docshare.client import Client
from docshare.client.http.rate_limits import RateBudget, RateMeter, read_budget, read_retry_after
from tests.support.outside.fake_api import BASE, FakeApi, FakeResponse, FakeTime


@pytest.mark.parametrize(
    ("headers", "budget"),
    [
        ({"RateLimit": '"default";r=50;t=30'}, RateBudget(50, 30.0, 120, 60.0)),
        ({"RateLimit": '"d";r=50;t=30', "RateLimit-Policy": '"d";q=200;w=10'}, RateBudget(50, 30.0, 200, 10.0)),
        ({"RateLimit": '"d" ; r=7'}, RateBudget(7, 0.0, 120, 60.0)),
        ({"RateLimit": '"a";r=90;t=60, "b";r=5;t=9', "RateLimit-Policy": '"b";q=10;w=9, "a";q=120;w=60'},
         RateBudget(5, 9.0, 10, 9.0)),
        ({"RateLimit": '"odd, \\"name\\"";r=3;t=4'}, RateBudget(3, 4.0, 120, 60.0)),
        ({"RateLimit": "limit=100, remaining=50, reset=30"}, RateBudget(50, 30.0, 100, 60.0)),
        ({"RateLimit": "limit=90, remaining=50, reset=30", "RateLimit-Policy": "90;w=20"}, RateBudget(50, 30.0, 90,
            20.0)),
        ({"RateLimit-Limit": "60", "RateLimit-Remaining": "6", "RateLimit-Reset": "5"}, RateBudget(6, 5.0, 60, 60.0)),
        ({"X-RateLimit-Limit": "120", "X-RateLimit-Remaining": "3", "X-RateLimit-Reset": "40"},
         RateBudget(3, 40.0, 120, 60.0)),
        ({"x-ratelimit-remaining": "3", "x-ratelimit-reset": str(int(BASE) + 12)}, RateBudget(3, 12.0, 120, 60.0)),
        ({"RateLimit": '"d";r=9;t=8', "X-RateLimit-Remaining": "1"}, RateBudget(9, 8.0, 120, 60.0)),
        ({"RateLimit": "nonsense"}, None),
        ({"X-RateLimit-Remaining": "many"}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_the_budget_is_parsed_from_any_rate_limit_header(headers: dict[str, str], budget: RateBudget | None) -> None:
    assert read_budget(headers, BASE) == budget


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0.0), ("120", 120.0), ("Mon, 21 Sep 2026 14:13:43 GMT", 23.0), ("Mon, 21 Sep 2026 14:00:00 GMT", 0.0),
     ("-1", None), ("1.5", None), ("later", None), ("", None)],
)  # fmt: skip
def test_retry_after_accepts_seconds_or_a_date(text: str, seconds: float | None) -> None:
    assert read_retry_after({"retry-after": text}, BASE) == seconds


@pytest.mark.parametrize(
    ("remaining", "reset", "spacing"),
    [
        (120, 60.0, 0.0),
        (25, 30.0, 0.0),
        (24, 48.0, 2.0),
        (24, 1.0, 0.5),
        (1, 30.0, 30.0),
        (0, 30.0, 30.0),
        (0, 0.0, 0.5),
    ],
)
def test_requests_slow_down_when_a_fifth_of_the_limit_remains(remaining: int, reset: float, spacing: float) -> None:
    assert RateBudget(remaining, reset, 120, 60.0).spacing() == spacing


def test_a_bulk_command_slows_down_before_the_limit(
    api: FakeApi, connect: Callable[..., Client], time: FakeTime
) -> None:
    api.on("GET", "/user", FakeResponse({}, headers={"RateLimit": '"default";r=10;t=40'}))
    announced_waits: list[tuple[str, float]] = []
    client = connect(on_wait=lambda why, seconds: announced_waits.append((why, seconds)))
    client.pace()
    client.account.show()
    assert client.spacing() == 4.0
    time.wall += 1
    time.passed += 1
    client.pace()
    assert time.waits == [3.0]
    assert announced_waits == [("staying below the rate limit", 3.0)]


def test_forked_clients_share_the_rate_limit_budget(api: FakeApi, client: Client) -> None:
    api.on("GET", "/user", FakeResponse({}, headers={"RateLimit": '"default";r=0;t=40'}))
    with client.fork() as twin:
        twin.account.show()
    assert client.spacing() == 40.0


@pytest.mark.parametrize(
    ("remaining", "requests", "seconds"),
    [(120, 96, 0.0), (120, 97, 0.5), (120, 200, 52.0), (30, 200, 97.0), (10, 200, 100.0), (0, 2, 1.0)],
)
def test_the_duration_of_many_requests_is_estimated(remaining: int, requests: int, seconds: float) -> None:
    """The limit is 120 per minute; 24 of them stay unused, and beyond the others two requests per second are sent."""
    meter = RateMeter()
    assert meter.duration(requests) == 0.0
    meter.update({"RateLimit": f'"p";r={remaining};t=60', "RateLimit-Policy": '"p";q=120;w=60'}, 0.0, 0.0)
    assert meter.duration(requests) == pytest.approx(seconds)
