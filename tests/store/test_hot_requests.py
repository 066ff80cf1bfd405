"""The requests that come by the thousand run statements that are texts: building a query takes longer than running it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from peewee import Query

from docshare.server.services.webhooks import dispatch
from tests.support.people.cast import World
from tests.support.people.reader import FakeReader


@contextmanager
def record_queries(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Yield a list of the queries that the store builds during the block."""
    built: list[str] = []
    run = type(world.rt.db)._run

    def run_statement(store: Any, statement: Any, params: Any) -> Any:
        if isinstance(statement, Query):
            built.append(str(statement))
        return run(store, statement, params)

    with monkeypatch.context() as patched:
        patched.setattr(type(world.rt.db), "_run", run_statement)
        yield built


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
    assert built == []


def test_beacons_build_no_query(world: World, uploaded_file: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    reader = FakeReader(world, uploaded_file["shortId"])
    with record_queries(world, monkeypatch) as built:
        assert [reader.read_page(3), reader.read_page(3)] == [204, 204]
    assert built == []


def test_deliveries_build_no_query(
    world: World, uploaded_file: dict[str, Any], receiver: FakeReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_webhook(world.pia, receiver.url)
    world.pia.put(f"/api/v1/files/{uploaded_file['uuid']}/settings", json={"allowDownload": True})
    with record_queries(world, monkeypatch) as built:
        sends = dispatch
    assert built == []


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
    assert built == []
