"""How long the next password waits after wrong ones."""

import pytest

from docshare.server.rules import guess_limits

HOUR_S = 3_600


@pytest.mark.parametrize(
    ("wrong", "since_ms", "wait_ms"),
    [(0, 0, 0), (9, 0, 0), (10, 0, 1_000), (10, 999, 1), (10, 1_000, 0), (30, 1_000, 20_000), (30, 10**9, 0)],
)
def test_after_ten_each_waits_a_second_longer(wrong: int, since_ms: int, wait_ms: int) -> None:
    assert guess_limits.password_delay_ms(wrong, since_ms) == wait_ms


def test_somebody_who_never_stops_gets_fewer_than_100_in_any_hour_and_never_waits_long() -> None:
    tries: list[int] = []
    now, longest, most = 0, 0, 0
    while now < 8 * HOUR_S * 1000:
        recent = [at for at in tries if at > now - HOUR_S * 1000]
        wait = guess_limits.password_delay_ms(len(recent), now - tries[-1]) if tries else 0
        longest = max(longest, wait)
        if wait:
            now += wait
        else:
            tries.append(now)
            most = max(most, len(recent) + 1)
    assert most < 100
    assert longest < 90_000
