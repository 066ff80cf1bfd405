"""Limits that instances share in Redis, over HTTP: Redis is available, unreachable, or unresponsive."""

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from docshare.contract.limits import REQUESTS
from docshare.server.app import create_app
from docshare.server.outbound import shared_memory
from docshare.server.outbound.shared_memory import SharedMemory
from docshare.server.runtime import build_limiter
from docshare.server.web.beacons import BEACON_POLICY
from tests.support.clock import FakeClock
from tests.support.engines.redis import RedisServer, run_redis, run_silent_server
from tests.support.outside.import_source import make_certificate
from tests.support.people.cast import World, make_runtime
from tests.support.polling import wait_until

LIMIT = 4


@pytest.fixture
def second(tmp_path: Path, clock: FakeClock, engine: Any) -> Iterator[Callable[..., Flask]]:
    """Yield a function that creates another instance on the database of the first world of the test."""
    runtimes = []

    def build(**settings: Any) -> Flask:
        runtimes.append(make_runtime(tmp_path / "data0", clock, engine, **settings))
        return create_app(runtimes[-1])

    yield build
    for runtime in runtimes:
        if runtime.shared is not None:
            runtime.shared.close()
        runtime.converter.close()
        runtime.pages.close()
        runtime.db.close()


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the times of the connection attempts of instances, with a shortened interval."""
    found: list[float] = []
    connect = SharedMemory._open_connections

    def count(memory: SharedMemory) -> None:
        found.append(time.monotonic())
        connect(memory)

    monkeypatch.setattr(shared_memory, "_PAUSE_S", 0.1)
    monkeypatch.setattr(shared_memory, "_LOG_INTERVAL_S", 3600.0)  # however long a busy machine needs for the test
    monkeypatch.setattr(SharedMemory, "_open_connections", count)
    return found


@pytest.fixture
def actions(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return the list of what requests asked Redis for."""
    found: list[object] = []
    run = SharedMemory.run

    def record(memory: SharedMemory, action: Callable[[Any], Any]) -> Any:
        def run_recorded(client: Any) -> Any:
            found.append(action)
            return action(client)

        return run(memory, run_recorded)

    monkeypatch.setattr(SharedMemory, "run", record)
    return found


def send_as_pia(app: Flask, world: World) -> tuple[int, int]:
    """Send a request as Pia; return its status and the number of remaining requests."""
    answer = app.test_client().get("/api/v1/user", headers=world.pia.headers)
    return answer.status_code, int(answer.headers["X-RateLimit-Remaining"])


def read_health(app: Flask) -> tuple[int, dict[str, Any]]:
    answer = app.test_client().get("/healthz?details")
    return answer.status_code, json.loads(answer.text)


def test_two_instances_share_a_rate_limit(
    make: Callable[..., World], second: Callable[..., Flask], redis_server: RedisServer
) -> None:
    settings: dict[str, Any] = {"redis_url": redis_server.url, "rate_limit": LIMIT}
    world = make(**settings)
    other = second(**settings)
    got = [send_as_pia(app, world) for app in (world.app, other) * 3]
    assert got == [(200, 3), (200, 2), (200, 1), (200, 0), (429, 0), (429, 0)]
    world.clock.advance(seconds=61)
    assert [send_as_pia(app, world) for app in (other, world.app)] == [(200, 3), (200, 2)]
    assert read_health(other)[1]["redis"] is True


def test_wrong_passwords_count_on_every_instance(
    make: Callable[..., World], second: Callable[..., Flask], redis_server: RedisServer
) -> None:
    world = make(redis_url=redis_server.url)
    other = second(redis_url=redis_server.url)
    link = world.pia.upload()["shareUrl"].rpartition("/")[2]
    uuid = world.pia.get("/api/v1/files").get_json()[0]["uuid"]
    assert world.pia.put(f"/api/v1/files/{uuid}/settings", json={"password": "correct horse"}).status_code == 200
    answers = []
    for number in range(11):
        client = (world.app, other)[number % 2].test_client()
        client.get(f"/{link}")
        origin = {"Origin": "http://127.0.0.1:8787"}
        answers.append(client.post(f"/{link}/enter", data={"password": "guess"}, headers=origin).status_code)
    assert answers[-1] == 429, answers
    assert set(answers[:5]) == {403}, answers


def test_redis_keys_contain_neither_api_keys_nor_addresses(
    make: Callable[..., World], redis_server: RedisServer
) -> None:
    world = make(redis_url=redis_server.url)
    world.pia.get("/api/v1/user")
    world.http.get("/api/v1/user", headers={"Authorization": "Bearer wrong"})
    keys = b" ".join(redis_server.list_keys())
    assert (keys.count(b"docshare:default:"), keys.count(b"docshare:address:")) == (1, 1)
    assert b"127.0.0.1" not in keys
    assert world.pia.key.encode() not in keys


def test_deployments_on_one_redis_have_separate_limits(make: Callable[..., World], redis_server: RedisServer) -> None:
    first, second = (make(redis_url=redis_server.url, address_limit=1) for _ in range(2))
    wrong = {"Authorization": "Bearer wrong"}
    assert [first.http.get("/api/v1/user", headers=wrong).status_code for _ in range(2)] == [401, 429]
    assert second.http.get("/api/v1/user", headers=wrong).status_code == 401


def test_each_instance_counts_beacons_separately(make: Callable[..., World], redis_server: RedisServer) -> None:
    world = make(redis_url=redis_server.url)
    redis_server.run("FLUSHALL")
    assert world.rt.limits.hit(BEACON_POLICY, "198.51.100.4", BEACON_POLICY.limit).is_allowed
    assert redis_server.list_keys() == []


def test_windows_expire_in_redis(make: Callable[..., World], redis_server: RedisServer) -> None:
    world = make(redis_url=redis_server.url)
    world.pia.get("/api/v1/user")
    lives = {key: redis_server.run("TTL", key.decode()) for key in redis_server.list_keys() if b":default:" in key}
    assert all(0 < left <= 60 for left in lives.values() if isinstance(left, int))
    assert len(lives) == 1


def test_missing_scripts_are_loaded_again(make: Callable[..., World], redis_server: RedisServer) -> None:
    world = make(redis_url=redis_server.url, rate_limit=LIMIT)
    assert send_as_pia(world.app, world) == (200, 3)
    redis_server.run("SCRIPT", "FLUSH")
    assert send_as_pia(world.app, world) == (200, 2)
    redis_server.run("SCRIPT", "FLUSH")
    redis_server.run("SCRIPT", "LOAD", world.rt.limits._shared._count.script)  # type: ignore[union-attr]
    assert send_as_pia(world.app, world) == (200, 1), "counted once although the second of two scripts was missing"


@pytest.mark.usefixtures("patient_redis")
def test_each_instance_limits_alone_while_redis_is_unreachable(
    make: Callable[..., World], second: Callable[..., Flask], caplog: pytest.LogCaptureFixture, attempts: list[float]
) -> None:
    with run_redis() as server:
        settings: dict[str, Any] = {"redis_url": server.url, "rate_limit": LIMIT}
        world = make(**settings)
        other = second(**settings)
        assert [send_as_pia(world.app, world), send_as_pia(other, world)] == [(200, 3), (200, 2)]
        server.kill()
        with caplog.at_level(logging.INFO, "docshare"):
            assert [send_as_pia(world.app, world) for _ in range(5)] == [
                (200, 3),
                (200, 2),
                (200, 1),
                (200, 0),
                (429, 0),
            ]
            assert send_as_pia(other, world) == (200, 3)
            status, details = read_health(world.app)
            assert (status, details["status"], details["redis"]) == (200, "ok", False)
            wait_until(lambda: len(attempts) >= 6)  # which log nothing
            lines = [record for record in caplog.records if "counts rate limits separately" in record.message]
            assert len(lines) == 2, "each instance must log one line"
            server.start()
            before = len(attempts)
            wait_until(lambda: read_health(world.app)[1]["redis"] and read_health(other)[1]["redis"])
            assert len(attempts) - before <= 2, "the next attempt of each instance did not succeed"
            assert [send_as_pia(world.app, world), send_as_pia(other, world)] == [(200, 3), (200, 2)]
            wait_until(lambda: len([line for line in caplog.records if "answers again" in line.message]) == 2)
        for runtime in (world.rt,):
            runtime.shared.close()  # type: ignore[union-attr]


def test_an_unresponsive_redis_delays_only_one_request(
    make: Callable[..., World], actions: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    timeout_s = 2.0
    monkeypatch.setattr(shared_memory, "_TIMEOUT_S", timeout_s)
    with run_redis() as server:
        world = make(redis_url=server.url, rate_limit=100)
        wait_until(lambda: world.rt.shared.is_connected)  # type: ignore[union-attr]
        assert send_as_pia(world.app, world)[0] == 200
        server.pause()
        actions.clear()
        began = time.monotonic()
        assert send_as_pia(world.app, world)[0] == 200
        assert timeout_s * 0.9 < time.monotonic() - began < timeout_s * 2
        assert [send_as_pia(world.app, world)[0] for _ in range(19)] == [200] * 19
        assert len(actions) == 1, "another request waited for Redis"
        world.rt.shared.close()  # type: ignore[union-attr]


def test_the_start_does_not_wait_long_for_an_unresponsive_redis(
    make: Callable[..., World], actions: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    start = SharedMemory.start

    def measure(memory: SharedMemory) -> None:
        began = time.monotonic()
        start(memory)
        waits.append(time.monotonic() - began)

    monkeypatch.setattr(SharedMemory, "start", measure)
    with run_silent_server() as url:
        world = make(redis_url=url, rate_limit=LIMIT)
        assert [wait < 10 for wait in waits] == [True]
        assert [send_as_pia(world.app, world) for _ in range(5)] == [(200, 3), (200, 2), (200, 1), (200, 0), (429, 0)]
        assert actions == [], "a request waited for Redis"
        assert read_health(world.app)[1]["redis"] is False


@pytest.mark.parametrize(
    "words",
    [("CONFIG", "SET", "maxmemory", "1"), ("REPLICAOF", "127.0.0.1", "1"), ("CONFIG", "SET", "requirepass", "x")],
)
def test_a_redis_that_rejects_commands_is_not_used(
    make: Callable[..., World], words: tuple[str, ...], attempts: list[float]
) -> None:
    with run_redis() as server:
        world = make(redis_url=server.url, rate_limit=100)
        server.run(*words)
        if "requirepass" in words:
            world.rt.shared.client.connection_pool.disconnect()  # type: ignore[union-attr]
        assert [send_as_pia(world.app, world) for _ in range(2)] == [(200, 99), (200, 98)]
        assert read_health(world.app)[1]["redis"] is False
        attempts.clear()
        wait_until(lambda: len(attempts) >= 2)
        assert read_health(world.app)[1]["redis"] is False, "it reconnected to a server that rejects its commands"
        world.rt.shared.close()  # type: ignore[union-attr]


@pytest.mark.parametrize("words", [("CONFIG", "SET", "maxmemory", "1"), ("REPLICAOF", "127.0.0.1", "1")])
@pytest.mark.usefixtures("patient_redis")
def test_healthz_reports_a_redis_that_rejects_writes_before_any_request_needs_it(
    make: Callable[..., World], words: tuple[str, ...]
) -> None:
    with run_redis() as server:
        world = make(redis_url=server.url)
        assert read_health(world.app)[1]["redis"] is True
        server.run(*words)
        assert read_health(world.app)[1]["redis"] is False
        world.rt.shared.close()  # type: ignore[union-attr]


def test_concurrent_threads_do_not_fail_while_redis_restarts(make: Callable[..., World], attempts: list[float]) -> None:
    with run_redis() as server:
        world = make(redis_url=server.url, rate_limit=1_000_000)
        over = threading.Event()
        longest = [0.0] * 12

        def count(number: int) -> None:
            while not over.is_set():
                began = time.monotonic()
                assert world.rt.limits.hit(REQUESTS, f"{number}", 1_000_000).is_allowed
                longest[number] = max(longest[number], time.monotonic() - began)

        with ThreadPoolExecutor(len(longest)) as pool:
            running = [pool.submit(count, number) for number in range(len(longest))]
            try:
                for stop in (server.kill, server.pause, server.kill):
                    wait_until(lambda: world.rt.shared.is_connected)  # type: ignore[union-attr]
                    stop()
                    wait_until(lambda: not world.rt.shared.is_connected)  # type: ignore[union-attr]
                    server.start()
            finally:
                over.set()
            for each in running:
                each.result(30)
        assert max(longest) < 3  # a few timeouts of a quarter of a second, while a dozen threads compete
        world.rt.shared.close()  # type: ignore[union-attr]


def test_a_redis_restart_between_two_requests_is_not_visible(
    make: Callable[..., World], caplog: pytest.LogCaptureFixture, patient_redis: None
) -> None:
    """The pooled connections are closed, and the restarted server has no scripts."""
    with run_redis() as server:
        world = make(redis_url=server.url, rate_limit=LIMIT)
        assert send_as_pia(world.app, world) == (200, 3)
        server.kill()
        server.start()
        assert [send_as_pia(world.app, world) for _ in range(2)] == [(200, 3), (200, 2)]
        assert [key for key in server.list_keys() if b":default:" in key]
        assert caplog.records == []
        world.rt.shared.close()  # type: ignore[union-attr]


def test_a_redis_url_may_contain_a_password_and_a_database(make: Callable[..., World], patient_redis: None) -> None:
    with run_redis() as server:
        server.run("CONFIG", "SET", "requirepass", "p@ss/word")
        port = server.url.rpartition(":")[2].partition("/")[0]
        world = make(redis_url=f"redis://:p%40ss%2Fword@127.0.0.1:{port}/3", rate_limit=LIMIT)
        assert send_as_pia(world.app, world) == (200, 3)
        assert read_health(world.app)[1]["redis"] is True
        world.rt.shared.close()  # type: ignore[union-attr]


@pytest.mark.parametrize("trusted", [True, False])
def test_tls_is_used_and_the_certificate_is_verified(
    make: Callable[..., World], tmp_path: Path, trusted: bool, caplog: pytest.LogCaptureFixture, patient_redis: None
) -> None:
    for name in ("server", "stranger"):
        (tmp_path / name).mkdir()
        make_certificate(tmp_path / name, "redis.example")
    with run_redis(tls=tmp_path / "server") as server:
        authority = tmp_path / ("server" if trusted else "stranger") / "cert.pem"
        world = make(redis_url=f"rediss://127.0.0.1:{server.tls_port}?ssl_ca_certs={authority}", rate_limit=LIMIT)
        assert send_as_pia(world.app, world) == (200, 3)
        assert read_health(world.app)[1]["redis"] is trusted
        assert ("CERTIFICATE_VERIFY_FAILED" in str([vars(line) for line in caplog.records])) is not trusted
        world.rt.shared.close()  # type: ignore[union-attr]


def test_an_unreadable_key_does_not_block_requests(make: Callable[..., World], redis_server: RedisServer) -> None:
    world = make(rate_limit=LIMIT)
    shared = SharedMemory(redis_server.url, lambda: Path("/missing/vault.key").read_bytes())
    windows = build_limiter(world.clock, shared)
    shared.start()
    assert windows.hit(REQUESTS, "a", 3).remaining == 2
    assert not shared.is_connected
    shared.close()


def test_healthz_omits_redis_if_it_is_not_configured(make: Callable[..., World]) -> None:
    world = make(redis_url=None)
    assert "redis" not in read_health(world.app)[1]
