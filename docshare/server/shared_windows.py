"""Moving windows in Redis that all instances share, with the scripts of the ``limits`` library.

The scripts are called directly. The storage class of the library would read the clock itself, and it needs two round
trips to count a request and read the window; here one is enough.

- Each instance counts by its own clock, so if the clocks of two hosts differ, their windows end at different times.
  Redis deletes a window after its whole length without a new request, so a wrong clock locks nobody out for longer.
- A request leaves its window after the same number of milliseconds as in memory, see ``_STRETCH``.
- Counting takes 0.25 ms, of which 0.14 ms are processor time of the server. With server, Redis and client on two
  processors, the server answers 0.74 times as many requests for ``GET /api/v1/user`` as with windows in memory. Writing
  to the socket without the Redis client halves the processor time but not that loss, so the client is used.
- A window uses up to 20 bytes in Redis for each request that it holds.
"""

from collections.abc import Callable, Sequence
from typing import Any

from limits.storage import RedisStorage
from redis import Redis
from redis.commands.core import Script
from redis.exceptions import NoScriptError

from docshare.contract.limits import SECOND
from docshare.server.outbound.shared_memory import SharedMemory
from docshare.server.rate_limits import WindowState

# Times are multiplied by this factor, so that a request whose age equals the length of the window has left it, as it
# has in memory; for the script alone it would still be inside. No other case changes, because the factor adds less than
# a millisecond, the unit of all times, in any window of up to two hours. In a window of a minute, it adds 6
# microseconds, and a float represents these times to a quarter of a microsecond.
_STRETCH = 1 + 1e-7

_Call = tuple[Script, Sequence[float]]


class SharedWindows:
    """The arrival times of each key, in Redis. Every method returns None while Redis is not reachable."""

    def __init__(self, memory: SharedMemory, clock: Callable[[], int]) -> None:
        self._memory = memory
        self._clock = clock
        storage = RedisStorage("redis://", connection_pool=memory.client.connection_pool)
        self._count: Script = storage.lua_acquire_moving_window
        self._read: Script = storage.lua_moving_window

    def hit(self, policy: str, key: str, limit: int, seconds: int) -> WindowState | None:
        """Store an arrival unless there would be more than ``limit`` in ``seconds``; return the state of the window."""
        now = self._clock()
        calls = [(self._count, (_to_redis(now), limit, seconds, 1)), self._build_read(now, limit, seconds)]
        answers = self._run(policy, key, calls)
        return None if answers is None else _parse_window(answers[1], now, bool(answers[0]))

    def peek(self, policy: str, key: str, limit: int, seconds: int) -> WindowState | None:
        """Return the state of the window, without counting; ``is_allowed``: another request would pass."""
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
        """Return the newest arrival of ``key`` in milliseconds; now if none is stored."""
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

    def _send(self, client: "Redis", redis_key: str, calls: list[_Call]) -> list[Any]:
        """Run the scripts in one round trip, with two more if Redis was restarted and does not know them."""
        answers = _send_once(client, redis_key, calls)
        done = next((i for i, answer in enumerate(answers) if isinstance(answer, NoScriptError)), len(calls))
        if done < len(calls):
            for script in (self._count, self._read):
                client.script_load(script.script)
            answers[done:] = _send_once(client, redis_key, calls[done:])
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers


def _send_once(client: "Redis", redis_key: str, calls: list[_Call]) -> list[Any]:
    pipeline = client.pipeline(transaction=False)
    for script, arguments in calls:
        pipeline.evalsha(script.sha, 1, redis_key, *arguments)
    return pipeline.execute(raise_on_error=False)


def _to_redis(now: int) -> float:
    return now / SECOND * _STRETCH


def _from_redis(text: bytes | str) -> int:
    return round(float(text) / _STRETCH * SECOND)


def _parse_window(answer: list[Any] | None, now: int, is_allowed: bool) -> WindowState:
    if answer is None:
        return WindowState(now, 0, is_allowed)
    # An instance whose clock is ahead may have stored a time in the future; the wait must not exceed the window.
    return WindowState(min(_from_redis(answer[0]), now), int(answer[1]), is_allowed)
