"""Moving windows that all instances share, with the scripts of the ``limits`` library for Redis.

The storage class of the library reads the clock itself and needs two round trips to count a request and read the
window, which is possible in one. So its scripts are called directly.

- Times are those of the instance that counts. If the clocks of two hosts differ, so do the ends of their windows; Redis
  deletes a window that admitted nothing for its whole length, so a wrong clock locks nobody out for longer.
- A request leaves its window after the same number of milliseconds as in memory, see ``_STRETCH``.
- Counting takes 0.25 ms, of which 0.14 ms are processor time of the server: ``GET /api/v1/user`` answers 0.74 times as
  often as with windows in memory, Redis and client on the same two processors. Writing to the connection
  without the Redis client halves the processor time and does not change that ratio, so the client is used.
- A window uses up to 20 bytes in Redis for each request that it holds.
"""

from collections.abc import Callable, Sequence
from typing import Any

from limits.storage import RedisStorage
from redis import Redis
from redis.commands.core import Script
from redis.exceptions import NoScriptError

from docshare.contract.limits import SECOND
from docshare.server.http.rate_limits import WindowState
from docshare.server.outbound.shared_memory import SharedMemory

# The script rejects while the oldest request is younger than the window or *as old*; in memory a request that is as
# old has left. Times that run faster by this factor give the same result in that case, and change no other: by 6
# microseconds in a window of a minute (the precision of a float there is a quarter of one), by less than a
# millisecond in any of up to two hours.
_STRETCH = 1 + 1e-7

_Call = tuple[Script, Sequence[float]]


class SharedWindows:
    """Arrival times by key, in Redis. Each method returns None while Redis is not reachable."""

    def __init__(self, memory: SharedMemory, clock: Callable[[], int]) -> None:
        self._memory = memory
        self._clock = clock
        storage = RedisStorage("redis://", connection_pool=memory.client.connection_pool)
        self._count: Script = storage.lua_acquire_moving_window
        self._read: Script = storage.lua_moving_window

    def hit(self, policy: str, key: str, limit: int, seconds: int) -> WindowState | None:
        """Record an arrival unless there would be more than ``limit`` in ``seconds``."""
        now = self._clock()
        calls = [(self._count, (_to_redis(now), limit, seconds, 1)), self._build_read(now, limit, seconds)]
        answers = self._run(policy, key, calls)
        return None if answers is None else _parse_window(answers[1], now, bool(answers[0]))

    def peek(self, policy: str, key: str, limit: int, seconds: int) -> WindowState | None:
        """Return the state of the window and whether it would admit one more."""
        now = self._clock()
        answers = self._run(policy, key, [self._build_read(now, limit, seconds)])
        if answers is None:
            return None
        return _parse_window(answers[0], now, answers[0] is None or int(answers[0][1]) < limit)

    def release(self, policy: str, key: str) -> bool | None:
        """Remove the newest arrival of ``key``; return True."""
        build_key = self._memory.build_key
        return self._memory.run(lambda client: client.lpop(build_key(policy, key)) is None or True)

    def find_newest(self, policy: str, key: str) -> int | None:
        """Return when ``key`` was counted last, in milliseconds; now if it is unknown."""
        build_key = self._memory.build_key
        found = self._memory.run(lambda client: client.lrange(build_key(policy, key), 0, 0))
        if found is None:
            return None
        return _from_redis(found[0]) if found else self._clock()

    def _build_read(self, now: int, limit: int, seconds: int) -> _Call:
        return self._read, (_to_redis(now) - seconds, limit)

    def _run(self, policy: str, key: str, calls: list[_Call]) -> list[Any] | None:
        build_key = self._memory.build_key
        return self._memory.run(lambda client: self._send(client, build_key(policy, key), calls))

    def _send(self, client: "Redis", place: str, calls: list[_Call]) -> list[Any]:
        """Run the scripts in one round trip, with two more if Redis was restarted and does not know them."""
        answers = _send_once(client, place, calls)
        known = next((i for i, answer in enumerate(answers) if isinstance(answer, NoScriptError)), len(calls))
        if known < len(calls):
            for script in (self._count, self._read):
                client.script_load(script.script)
            answers[known:] = _send_once(client, place, calls[known:])
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers


def _send_once(client: "Redis", place: str, calls: list[_Call]) -> list[Any]:
    pipeline = client.pipeline(transaction=False)
    for script, arguments in calls:
        pipeline.evalsha(script.sha, 1, place, *arguments)
    return pipeline.execute(raise_on_error=False)


def _to_redis(now: int) -> float:
    return now / SECOND * _STRETCH


def _from_redis(text: bytes | str) -> int:
    return round(float(text) / _STRETCH * SECOND)


def _parse_window(answer: list[Any] | None, now: int, is_allowed: bool) -> WindowState:
    if answer is None:
        return WindowState(now, 0, is_allowed)
    # An instance whose clock is ahead may have counted it: no wait is longer than the window.
    return WindowState(min(_from_redis(answer[0]), now), int(answer[1]), is_allowed)
