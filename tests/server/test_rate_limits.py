"""The rate limiter alone: sliding windows in memory and in Redis, bounded memory, threads, and clock changes."""

import hashlib
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from docshare.contract.limits import RatePolicy
from docshare.server.outbound.shared_memory import SharedMemory
from docshare.server.rate_limits import RateLimiter, network_prefix
from docshare.server.shared_windows import SharedWindows
from tests.support.clock import FakeClock

MINUTE = RatePolicy("minute", 5, 60_000, "token")


@pytest.fixture(params=["memory", "redis"])
def limits(request: pytest.FixtureRequest, clock: FakeClock) -> Iterator[RateLimiter]:
    if request.param == "memory":
        yield RateLimiter(clock)
        return
    memory = SharedMemory(request.getfixturevalue("redis_server").url, lambda: b"secret")
    memory.start()
    windows = SharedWindows(memory, clock)
    drop_expiry(windows)
    yield RateLimiter(clock, shared=windows)
    assert memory.is_connected, "the windows of the test were in the memory of this process"
    memory.close()


def drop_expiry(windows: SharedWindows) -> None:
    """Keep the windows in Redis forever. Redis deletes them by real time, which passes while the fake clock stands: a
    busy machine may need longer for a test than a short window lasts."""
    script = windows._count
    kept = script.script.replace(b"redis.call('expire', KEYS[1], expiry)", b"")
    assert kept != script.script
    script.script, script.sha = kept, hashlib.sha1(kept).hexdigest()


def test_requests_up_to_the_limit_are_allowed(limits: RateLimiter) -> None:
    assert [limits.hit(MINUTE, "a", 3).is_allowed for _ in range(5)] == [True, True, True, False, False]


def test_remaining_counts_down_to_zero(limits: RateLimiter) -> None:
    assert [limits.hit(MINUTE, "a", 3).remaining for _ in range(4)] == [2, 1, 0, 0]


def test_the_window_slides(limits: RateLimiter, clock: FakeClock) -> None:
    """The limit applies to any 60 seconds, not to calendar minutes."""
    assert limits.hit(MINUTE, "a", 2).is_allowed
    clock.advance(seconds=30)
    assert limits.hit(MINUTE, "a", 2).is_allowed
    clock.advance(seconds=29, milliseconds=999)
    assert not limits.hit(MINUTE, "a", 2).is_allowed
    clock.advance(milliseconds=1)
    assert limits.hit(MINUTE, "a", 2).is_allowed
    assert not limits.hit(MINUTE, "a", 2).is_allowed


@pytest.mark.parametrize("seconds", [1, 10, 60, 900, 3600, 7200])
@pytest.mark.parametrize("later_ms", [0, 1, 999, 12_345_678_901])
def test_a_window_ends_exactly_to_the_millisecond(
    limits: RateLimiter, clock: FakeClock, seconds: int, later_ms: int
) -> None:
    window = RatePolicy("window", 1, seconds * 1000, "token")
    clock.advance(milliseconds=later_ms)
    assert limits.hit(window, "a", 1).is_allowed
    clock.advance(seconds=seconds, milliseconds=-1)
    assert not limits.hit(window, "a", 1).is_allowed
    assert not limits.peek(window, "a", 1).is_allowed
    if seconds > 1:
        clock.advance(milliseconds=1)
        assert limits.peek(window, "a", 1).is_allowed
        assert limits.hit(window, "a", 1).is_allowed


def test_a_request_after_the_reported_wait_is_allowed(limits: RateLimiter, clock: FakeClock) -> None:
    limits.hit(MINUTE, "a", 1)
    clock.advance(seconds=12, milliseconds=345)
    refused = limits.hit(MINUTE, "a", 1)
    assert refused.reset_s == 48
    clock.advance(seconds=refused.reset_s)
    assert limits.hit(MINUTE, "a", 1).is_allowed


def test_a_rejected_request_does_not_extend_the_wait(limits: RateLimiter, clock: FakeClock) -> None:
    limits.hit(MINUTE, "a", 1)
    for _ in range(60):
        clock.advance(milliseconds=999)
        assert not limits.hit(MINUTE, "a", 1).is_allowed
    clock.advance(milliseconds=60)
    assert limits.hit(MINUTE, "a", 1).is_allowed


def test_peek_does_not_count_as_a_request(limits: RateLimiter) -> None:
    assert [limits.peek(MINUTE, "a", 1).is_allowed for _ in range(9)] == [True] * 9
    assert limits.hit(MINUTE, "a", 1).is_allowed
    assert not limits.peek(MINUTE, "a", 1).is_allowed


def test_keys_and_policies_have_separate_windows(limits: RateLimiter) -> None:
    other = RatePolicy("other", 5, 60_000, "token")
    assert limits.hit(MINUTE, "a", 1).is_allowed
    assert limits.hit(MINUTE, "b", 1).is_allowed
    assert limits.hit(other, "a", 1).is_allowed


def test_a_refunded_request_allows_one_more(limits: RateLimiter) -> None:
    assert [limits.hit(MINUTE, "a", 2).is_allowed for _ in range(3)] == [True, True, False]
    assert limits.refund(MINUTE, "a", 2).remaining == 1
    assert [limits.hit(MINUTE, "a", 2).is_allowed for _ in range(2)] == [True, False]


def test_ms_since_last_hit(limits: RateLimiter, clock: FakeClock) -> None:
    assert limits.ms_since_last_hit(MINUTE, "a", 3) == 0
    limits.hit(MINUTE, "a", 3)
    clock.advance(milliseconds=1234)
    limits.hit(MINUTE, "a", 3)
    clock.advance(milliseconds=567)
    assert limits.ms_since_last_hit(MINUTE, "a", 3) == 567


def test_the_first_request_starts_a_full_window(limits: RateLimiter) -> None:
    assert limits.peek(MINUTE, "a", 3) == limits.peek(MINUTE, "b", 3)
    assert (limits.hit(MINUTE, "a", 3).reset_s, limits.peek(MINUTE, "a", 3).reset_s) == (60, 60)


def test_sixteen_threads_together_pass_exactly_the_limit(limits: RateLimiter) -> None:
    with ThreadPoolExecutor(16) as pool:
        passed = sum(pool.map(lambda _: limits.hit(MINUTE, "a", 120).is_allowed, range(2000)))
    assert passed == 120


def test_a_clock_that_is_set_back_does_not_lock_out_anyone(clock: FakeClock) -> None:
    limits = RateLimiter(clock)
    limits.hit(MINUTE, "a", 1)
    clock.advance(hours=-1)
    assert limits.hit(MINUTE, "a", 1).is_allowed


def test_many_keys_use_bounded_memory(clock: FakeClock) -> None:
    """The limiter uses at most 50 MB for 1,000,000 keys; a tenth of them is enough to reach the bound."""
    limits = RateLimiter(clock)
    tracemalloc.start()
    try:
        for number in range(100_000):
            limits.hit(MINUTE, f"{number:064}", 120)
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used < 50 * 1024 * 1024


def test_the_least_recently_used_key_is_dropped_first(clock: FakeClock) -> None:
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
    assert network_prefix(address) == key
