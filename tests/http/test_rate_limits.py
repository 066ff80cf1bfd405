"""The limiter by itself: moving windows, bounded memory, threads, and a clock that moves."""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import pytest

from docshare.contract.limits import RatePolicy
from docshare.server.http.rate_limits import RateLimiter, address_key
from tests.support.clock import FakeClock

MINUTE = RatePolicy("minute", 5, 60_000, "token")


def test_the_limit_passes_and_one_more_does_not(clock: FakeClock) -> None:
    limits = RateLimiter(clock)
    assert [limits.hit(MINUTE, "a", 3).is_allowed for _ in range(5)] == [True, True, True, False, False]


def test_remaining_counts_down_to_zero(clock: FakeClock) -> None:
    limits = RateLimiter(clock)
    assert [limits.hit(MINUTE, "a", 3).remaining for _ in range(4)] == [2, 1, 0, 0]


def test_the_window_moves(clock: FakeClock) -> None:
    """At most the limit in any 60 seconds, not from minute to minute."""
    limits = RateLimiter(clock)
    assert limits.hit(MINUTE, "a", 2).is_allowed
    clock.advance(seconds=30)
    assert limits.hit(MINUTE, "a", 2).is_allowed
    clock.advance(seconds=29, milliseconds=999)
    assert not limits.hit(MINUTE, "a", 2).is_allowed
    clock.advance(milliseconds=1)
    assert limits.hit(MINUTE, "a", 2).is_allowed
    assert not limits.hit(MINUTE, "a", 2).is_allowed


def test_waiting_as_long_as_told_is_enough(clock: FakeClock) -> None:
    limits = RateLimiter(clock)
    limits.hit(MINUTE, "a", 1)
    clock.advance(seconds=12, milliseconds=345)
    refused = limits.hit(MINUTE, "a", 1)
    assert refused.reset_s == 48
    clock.advance(seconds=refused.reset_s)
    assert limits.hit(MINUTE, "a", 1).is_allowed


def test_a_refused_request_does_not_lengthen_the_wait(clock: FakeClock) -> None:
    limits = RateLimiter(clock)
    limits.hit(MINUTE, "a", 1)
    for _ in range(60):
        clock.advance(milliseconds=999)
        assert not limits.hit(MINUTE, "a", 1).is_allowed
    clock.advance(milliseconds=60)
    assert limits.hit(MINUTE, "a", 1).is_allowed


def test_looking_costs_nothing(clock: FakeClock) -> None:
    limits = RateLimiter(clock)
    assert [limits.peek(MINUTE, "a", 1).is_allowed for _ in range(9)] == [True] * 9
    assert limits.hit(MINUTE, "a", 1).is_allowed
    assert not limits.peek(MINUTE, "a", 1).is_allowed


def test_keys_and_policies_do_not_share(clock: FakeClock) -> None:
    limits = RateLimiter(clock)
    other = RatePolicy("other", 5, 60_000, "token")
    assert limits.hit(MINUTE, "a", 1).is_allowed
    assert limits.hit(MINUTE, "b", 1).is_allowed
    assert limits.hit(other, "a", 1).is_allowed


def test_exactly_the_limit_passes_among_sixteen_threads(clock: FakeClock) -> None:
    limits = RateLimiter(clock)
    with ThreadPoolExecutor(16) as pool:
        passed = sum(pool.map(lambda _: limits.hit(MINUTE, "a", 120).is_allowed, range(2000)))
    assert passed == 120


def test_a_clock_that_was_set_back_locks_nobody_out(clock: FakeClock) -> None:
    limits = RateLimiter(clock)
    limits.hit(MINUTE, "a", 1)
    clock.advance(hours=-1)
    assert limits.hit(MINUTE, "a", 1).is_allowed


def test_a_million_keys_stay_in_a_bounded_memory(clock: FakeClock) -> None:
    """1,000,000 distinct Authorization values: limiter <= 50 MB. A tenth of them shows the bound as well."""
    limits = RateLimiter(clock)
    tracemalloc.start()
    try:
        for number in range(100_000):
            limits.hit(MINUTE, f"{number:064}", 120)
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used < 50 * 1024 * 1024


def test_the_key_that_was_silent_longest_is_forgotten_first(clock: FakeClock) -> None:
    limits = RateLimiter(clock, max_keys=2)
    for key in ("busy", "silent", "busy", "new"):
        limits.hit(MINUTE, key, 2)
    assert limits.peek(MINUTE, "busy", 2).remaining == 0
    assert limits.peek(MINUTE, "silent", 2).remaining == 2


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:aaaa::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:bbbb::2", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("", ""),
    ],
)
def test_an_ipv6_network_counts_as_one_address(address: str, key: str) -> None:
    assert address_key(address) == key
