"""The number of SQL statements that a request takes."""

import pytest

from tests.support.engines.database import ON_POSTGRESQL, record_all, record_statements, sqlite_only
from tests.support.engines.rows import insert_gate_response, insert_view
from tests.support.people.cast import World


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/user",
        "/api/v1/files",
        "/api/v1/files/{uuid}/content",
        "/api/v1/files/{shortId}/qr-code",
        "/api/v1/events",
        "/api/v1/events?since=1&limit=100",
        "/api/v1/events?file={shortId}",
        "/api/v1/gate-responses?file={uuid}",
    ],
)
def test_an_authenticated_request_takes_two_statements(world: World, path: str) -> None:
    """The bytes of a document take a third, for its data key."""
    made = world.pia.upload()
    for _ in range(3):
        insert_view(world, made["uuid"])
        insert_gate_response(world, made["uuid"], {"mail": "a@b.example"})
    seen = record_statements(world, path.replace("{uuid}", made["uuid"]).replace("{shortId}", made["shortId"]))
    assert len(seen) <= 2 + path.endswith("/content"), seen
    assert "api_keys" in seen[0]


@sqlite_only
def test_a_page_image_that_was_shown_before_takes_no_statement(world: World) -> None:
    path = f"/{world.pia.upload()['shortId']}/pages/1-800.jpg?v=1"
    assert record_statements(world, path)
    assert record_statements(world, path) == []


@pytest.mark.parametrize(("person", "counts"), [("fay", 2), ("pia", 0)])
def test_an_upload_counts_files_only_up_to_a_file_limit(world: World, person: str, counts: int) -> None:
    caller = getattr(world, person)
    with record_all(world.rt.db) as seen:
        caller.upload()
    counting = [text for text in seen if "COUNT(" in text]
    assert len(counting) == counts
    limit = "LIMIT %s) AS" if ON_POSTGRESQL else "LIMIT 3) AS"
    assert all(limit in text for text in counting)


@pytest.mark.parametrize("path", ["/api/v1", "/api/v1/openapi.json"])
def test_a_public_document_takes_no_statement(world: World, path: str) -> None:
    assert record_statements(world, path) == []


@sqlite_only
@pytest.mark.parametrize("stream", ["view", "download", "gate"])
@pytest.mark.parametrize("query", ["", "&since=5", "&file={uuid}", "&file={uuid}&since=5"])
def test_a_page_of_the_feed_is_read_from_an_index_without_sorting(world: World, stream: str, query: str) -> None:
    made = world.pia.upload()
    seen = record_statements(world, f"/api/v1/events?type={stream}{query}".replace("{uuid}", made["uuid"]))
    plan = " ".join(str(row[3]) for row in world.rt.db.fetch_all(f"EXPLAIN QUERY PLAN {seen[-1]}"))
    assert f"USING INDEX {stream}_rows_{'file' if 'file' in query else 'owner'}" in plan
    assert "SCAN" not in plan
    assert "TEMP B-TREE" not in plan
