"""Probes of ``docshare doctor`` whose requests reach another instance than the one that began the probe."""

from collections.abc import Callable
from typing import Any

import pytest

from docshare.server.http.proxy_probes import LIFETIME_MS, Probes
from docshare.server.outbound.shared_memory import SharedMemory
from docshare.server.runtime import random_token
from tests.support.engines.redis import RedisServer, run_redis
from tests.support.people.cast import World


@pytest.fixture
def pair(redis_server: RedisServer, request: pytest.FixtureRequest) -> tuple[Probes, Probes]:
    """Return the probes of two instances."""
    return make_probes(redis_server, request), make_probes(redis_server, request)


def make_probes(server: RedisServer, request: pytest.FixtureRequest) -> Probes:
    memory = SharedMemory(server.url, lambda: b"secret")
    memory.start()
    request.addfinalizer(memory.close)
    return Probes(memory)


def test_requests_that_reached_another_instance_are_reported(pair: tuple[Probes, Probes]) -> None:
    owner, other = pair
    token = owner.begin(random_token, 0)
    assert other.is_active(token, 0)
    other.record(token, {"method": "GET", "size": 1})
    owner.record(token, {"method": "POST", "size": 2})
    other.record(token, {"method": "POST", "size": 3})
    assert [facts["size"] for facts in owner.end(token)] == [2, 1, 3]
    assert not other.is_active(token, 0)
    other.record(token, {"method": "GET", "size": 4})
    assert owner.end(token) == []


def test_a_probe_stores_a_limited_number_of_requests_and_expires(
    pair: tuple[Probes, Probes], redis_server: RedisServer
) -> None:
    owner, other = pair
    token = owner.begin(random_token, 0)
    for number in range(40):
        other.record(token, {"size": number})
    (key,) = (key for key in redis_server.list_keys() if b":probe:" in key)
    assert token.encode() not in key
    left = redis_server.run("PTTL", key.decode())
    assert isinstance(left, int)
    assert 0 < left <= LIFETIME_MS
    assert [facts["size"] for facts in owner.end(token)] == list(range(32))


def test_a_malformed_token_is_not_looked_up(pair: tuple[Probes, Probes], redis_server: RedisServer) -> None:
    before, commands = count_commands(redis_server), count_commands(redis_server)
    for token in ("", "nobody", "x" * 33, "é" * 32, "a b" * 10):
        assert not pair[0].is_active(token, 0)
        pair[0].record(token, {"size": 1})
        assert pair[0].end(token) == []
    assert count_commands(redis_server) - commands == commands - before, (
        "only the commands that read the counter may run"
    )


def count_commands(server: RedisServer) -> int:
    stats: Any = server.run("INFO", "stats")
    return int(stats["total_commands_processed"])


def test_a_probe_that_began_without_redis_works_in_its_instance(make: Callable[..., World]) -> None:
    with run_redis() as server:
        world = make(redis_url=server.url)
        server.kill()
        token = world.rt.probes.begin(world.rt.random_token, world.clock.now)
        assert world.http.get(f"/healthz?probe={token}").status_code == 200
        assert world.http.post(f"/healthz?probe={'x' * 32}").status_code == 404
        assert [facts["method"] for facts in world.rt.probes.end(token)] == ["GET"]
        assert world.rt.shared is not None
        world.rt.shared.close()
