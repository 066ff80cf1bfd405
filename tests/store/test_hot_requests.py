"""Frequent requests run SQL that is written as text: building a query takes longer than running it."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from docshare.server.services.readership import view_sessions
from tests.support.engines.database import record_all, sqlite_only
from tests.support.outside.due_deliveries import deliver_due
from tests.support.outside.receivers import LOOPBACK_NETWORKS, FakeReceiver, add_webhook, record_replacements
from tests.support.people.cast import World
from tests.support.people.reader import FakeReader


@contextmanager
def record_queries(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Yield a list of the statements that the query builder built during the block: only it quotes table names."""
    built: list[str] = []
    run = world.rt.db.engine.execute_sql

    def execute_sql(sql: str, params: Any = None) -> Any:
        if '"' in sql:
            built.append(sql)
        return run(sql, params)

    with monkeypatch.context() as patched:
        patched.setattr(world.rt.db.engine, "execute_sql", execute_sql)
        yield built


def test_queries_are_recognized(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with record_queries(world, monkeypatch) as built:
        world.pia.upload()
    assert built


@pytest.mark.parametrize(
    "path",
    [
        "/{name}",
        "/embed/{name}",
        "/oembed?url=http://localhost/{name}",
        "/api/files/{name}/qr-code",
        "/api/files/{name}/metadata",
        "/{name}/pages/1-800.jpg?v={version}",
        "/{name}/tiles/1/2x3/0-0.jpg?v={version}",
        "/{name}/text/1.json?v={version}",
        "/{name}/outline.json?v={version}",
        "/{name}/search?q=page&v={version}",
        "/{name}/feedback",
    ],
)
def test_requests_of_readers_build_no_query(
    world: World, uploaded_file: dict[str, Any], path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = FakeReader(world, uploaded_file["shortId"])
    target = path.format(name=uploaded_file["shortId"], version=reader.facts.get("version"))
    with record_queries(world, monkeypatch) as built:
        answer = reader.http.get(target)
    assert answer.status_code in (200, 404), answer.get_data(as_text=True)
    assert not built, "\n".join(built)


def test_beacons_build_no_query(world: World, uploaded_file: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    FakeReader(world, uploaded_file["shortId"], address="198.51.100.5").read_page(3)  # the first of the day
    reader = FakeReader(world, uploaded_file["shortId"])
    with record_queries(world, monkeypatch) as built:
        assert [reader.read_page(3), reader.read_page(3)] == [204, 204]
    assert not built, "\n".join(built)


@sqlite_only
def test_most_beacons_query_nothing(world: World, uploaded_file: dict[str, Any]) -> None:
    reader = FakeReader(world, uploaded_file["shortId"])
    assert [reader.read_page(3) for _ in range(4)] == [204] * 4
    with record_all(world.rt.db) as seen:
        assert reader.read_page(3) == 204
    assert [statement.split()[0] for statement in seen] == ["BEGIN", "INSERT", "UPDATE", "COMMIT"]


def test_a_cached_session_is_that_of_the_database(world: World, uploaded_file: dict[str, Any]) -> None:
    reader = FakeReader(world, uploaded_file["shortId"])
    reports: list[dict[str, Any]] = [
        {},
        {"input": False},
        {"turns": 1, "backTurns": 1},
        {"visible": False},
        {"visible": False, "closing": True},
        {"seq": 9},
        {"seq": 7},
        {"seq": 7},
        {"seq": 10, "ageMs": 10**9},
        {"pages": []},
        {"visibleMs": 10**9},
    ]
    found = []
    for report in [{}, {}, *reports]:
        assert reader.read_page(3, **report) == 204
        ((nonce,),) = world.rt.db.fetch_all("SELECT opening FROM view_sessions")
        cached = world.rt.db.write_rows(partial(view_sessions.find, world.rt, nonce, 0))
        with world.rt.db.write():
            stored = view_sessions.find(world.rt, nonce, 0)
        assert cached == stored
        found.append(stored)
    assert len(set(found)) == len(found) - 1  # one beacon was repeated


@pytest.mark.world(webhook_allow=LOOPBACK_NETWORKS)
def test_deliveries_build_no_query(
    world: World, uploaded_file: dict[str, Any], receiver: FakeReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_webhook(world.pia, receiver.url)
    record_replacements(world, uploaded_file["uuid"])
    with record_queries(world, monkeypatch) as built:
        assert deliver_due(world.rt) == 1
    assert not built, "\n".join(built)


@pytest.mark.parametrize(
    "path",
    ["/files", "/files/{uuid}", "/user", "/activity", "/events", "/gate-responses"],
)
def test_polls_of_the_api_build_no_query(
    world: World, uploaded_file: dict[str, Any], path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with record_queries(world, monkeypatch) as built:
        answer = world.pia.get(f"/api/v1{path.format(**uploaded_file)}")
    assert answer.status_code == 200, answer.get_data(as_text=True)
    assert not built, "\n".join(built)
