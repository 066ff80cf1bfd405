"""Fixtures for tests that go through the door of the server. Imported late: most tests need no server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.clock import FakeClock

if TYPE_CHECKING:
    from docshare.server.pdf.engine import PdfEngine
    from tests.support.engines.redis import RedisServer
    from tests.support.outside.receivers import FakeReceiver
    from tests.support.people.cast import World


# How fast a busy machine makes examples and checks them says nothing about what is tested.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.fixture(scope="session")
def engine() -> Iterator[PdfEngine]:
    """Yield one pool of PDF workers for the whole run: starting them is the slow part."""
    from docshare.server.pdf.engine import PdfEngine

    pool = PdfEngine(workers=1)
    yield pool
    pool.close()


@pytest.fixture(scope="session")
def running_redis() -> Iterator[RedisServer]:
    """Yield one Redis server for the whole run. Tests ask for ``redis_server``."""
    from tests.support.engines.redis import run_redis

    with run_redis() as server:
        yield server


@pytest.fixture
def patient_redis(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let instances wait for Redis as long as a busy machine needs."""
    monkeypatch.setattr("docshare.server.outbound.shared_memory._TIMEOUT_S", 10.0)
    monkeypatch.setattr("docshare.server.outbound.shared_memory._START_S", 60.0)


@pytest.fixture
def patient_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a change wait for the trial of its copies as long as a busy machine needs."""
    monkeypatch.setattr("docshare.server.services.files.copy_checks._MAX_TRIAL_S", 60.0)


@pytest.fixture
def redis_server(running_redis: RedisServer, patient_redis: None) -> RedisServer:
    """Return a Redis server without keys. A test that stops the server runs its own."""
    running_redis.run("FLUSHALL")
    return running_redis


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def make(tmp_path: Path, clock: FakeClock, engine: PdfEngine) -> Iterator[Callable[..., World]]:
    """Yield a function that makes a world; settings of the server are its keyword arguments."""
    from docshare.server.pdf.budget import ProcessorBudget
    from tests.support.people.cast import close_world, make_runtime, make_world

    # All tests share the engine, and the ids of their accounts repeat: no account is slow because of an earlier test.
    engine.pool._schedule.budget = ProcessorBudget()
    made: list[World] = []

    def build(**settings: Any) -> World:
        made.append(make_world(make_runtime(tmp_path / f"data{len(made)}", clock, engine, **settings), clock))
        return made[-1]

    yield build
    for world in made:
        close_world(world)


@pytest.fixture
def world(make: Callable[..., World], request: pytest.FixtureRequest) -> World:
    """Return an instance with its cast: fay (Free), bea (Basic), pia (Pro) and mal, a stranger.

    The marker ``world`` of a module or test has the settings of its server.
    """
    marker = request.node.get_closest_marker("world")
    return make(**marker.kwargs) if marker else make()


@pytest.fixture
def resolve_hosts(world: World) -> None:
    """Resolve every host of a webhook to a public address, without asking a name server."""
    from tests.support.people.webhooks import resolve_all_hosts

    resolve_all_hosts(world.rt)


@pytest.fixture
def receiver() -> Iterator[FakeReceiver]:
    """Run a receiver of webhooks on loopback."""
    from tests.support.outside.receivers import open_receiver

    with open_receiver() as running:
        yield running


@pytest.fixture
def uploaded_file(world: World, request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return the upload result of a file of Pia.

    The marker ``file_document`` of a module or test has its content and its name, as for ``Person.upload``; the marker
    ``file_settings`` has its settings.
    """
    from tests.support.owner.browser import put_settings

    document = request.node.get_closest_marker("file_document")
    made = world.pia.upload(*document.args, **document.kwargs) if document else world.pia.upload()
    settings_marker = request.node.get_closest_marker("file_settings")
    if settings_marker:
        put_settings(world, made, **settings_marker.kwargs)
    return made
