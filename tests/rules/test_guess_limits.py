"""The delay of the next password attempt after wrong passwords."""

import pytest

from docshare.server.rules import guess_limits

HOUR_S = 3_600


@pytest.mark.parametrize(
    ("wrong", "since_ms", "wait_ms"),
    [(0, 0, 0), (9, 0, 0), (10, 0, 1_000), (10, 999, 1), (10, 1_000, 0), (30, 1_000, 20_000), (30, 10**9, 0)],
)
def test_the_delay_grows_by_one_second_for_each_wrong_password_after_ten(
    wrong: int, since_ms: int, wait_ms: int
) -> None:
    assert guess_limits.password_delay_ms(wrong, since_ms) == wait_ms


def test_continuous_guessing_gets_fewer_than_100_attempts_per_hour() -> None:
    attempts: list[int] = []
    now, longest, most = 0, 0, 0
    while now < 8 * HOUR_S * 1000:
        recent = [at for at in attempts if at > now - HOUR_S * 1000]
        wait = guess_limits.password_delay_ms(len(recent), now - attempts[-1]) if attempts else 0
        longest = max(longest, wait)
        if wait:
            now += wait
        else:
            attempts.append(now)
            most = max(most, len(recent) + 1)
    assert most < 100
    assert longest < 90_000
