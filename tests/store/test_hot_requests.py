"""Frequent requests run SQL that is written as text: building a query takes longer than running it."""

import re
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from docshare.server.services.readership import view_sessions
from tests.support.engines.database import record_all, sqlite_only
from tests.support.outside.due_deliveries import deliver_due
from tests.support.outside.receivers import LOOPBACK_NETWORKS, FakeReceiver, add_webhook, record_replacements
from tests.support.people.cast import World
from tests.support.people.reader import FakeReader

_CHANGE = re.compile(r"(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)")


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
def test_most_beacons_query_their_session_only(world: World, uploaded_file: dict[str, Any]) -> None:
    reader = FakeReader(world, uploaded_file["shortId"])
    assert [reader.read_page(3) for _ in range(3)] == [204] * 3
    with record_all(world.rt.db) as seen:
        assert reader.read_page(3) == 204
    assert [statement.split()[0] for statement in seen] == ["BEGIN", "SELECT", "INSERT", "UPDATE", "COMMIT"]


@sqlite_only
def test_beacons_change_no_table_of_which_rows_stay_cached(
    world: World, uploaded_file: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``write_rows`` does not clear the cache."""
    monkeypatch.setattr(view_sessions, "MAX_BEACONS_KEPT", 6)  # the pages of later ones are stored at once
    store, cached, written = world.rt.db, list[str](), list[str]()
    recall, write_rows = store.recall, store.write_rows
    with record_all(store) as seen:

        def record_recall(key: Hashable, find: Callable[[], Any]) -> Any:
            before = len(seen)
            found = recall(key, find)
            cached.extend(seen[before:])
            return found

        @contextmanager
        def record_writes() -> Iterator[None]:
            before = len(seen)
            with write_rows():
                yield
            written.extend(seen[before:])

        monkeypatch.setattr(store, "recall", record_recall)
        monkeypatch.setattr(store, "write_rows", record_writes)
        reader = FakeReader(world, uploaded_file["shortId"])
        for seconds in (1, 3, 3, 61, 3, 3, 3, 3):
            assert reader.read_page(seconds) == 204
            assert reader.http.get(f"/{uploaded_file['shortId']}").status_code == 200
        assert reader.leave() == 204
    changed = {found[1] for found in map(_CHANGE.match, written) if found}
    assert changed == {"beacons", "view_sessions", "session_pages"}
    assert any(" FROM files " in statement for statement in cached)
    assert not [statement for statement in cached if any(table in statement for table in changed)]


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
