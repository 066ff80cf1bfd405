"""Deleting a variant, and redacting its label wherever it is stored."""

import json
from typing import Any

import pytest
from werkzeug.test import TestResponse

from docshare.server.services.events import activity
from docshare.server.services.links import downloads
from tests.support.engines.database import ON_POSTGRESQL, dump_database, sqlite_only
from tests.support.engines.rows import count_rows
from tests.support.people.cast import World
from tests.support.people.reader import FakeReader, list_sessions, list_view_rows

CANARY = "Ada-Canary-7f3a"


@pytest.fixture
def variant(world: World, uploaded_file: dict[str, Any]) -> dict[str, Any]:
    answer = world.pia.post(f"/api/v1/files/{uploaded_file['uuid']}/variants", json={"label": CANARY})
    row: dict[str, Any] = answer.get_json()
    return row


def delete_variant(world: World, made: dict[str, Any], variant: dict[str, Any], query: str = "") -> TestResponse:
    return world.pia.delete(f"/api/v1/files/{made['uuid']}/variants/{variant['uuid']}{query}")


def list_variants(world: World, made: dict[str, Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = world.pia.get(f"/api/v1/files/{made['uuid']}/variants").get_json()["variants"]
    return rows


def record_events(world: World, made: dict[str, Any], variant: dict[str, Any]) -> None:
    """Record two events through the variant and one without."""
    found = world.rt.db.fetch_one("SELECT id, file_id FROM variants WHERE uuid = ?", (variant["uuid"],))
    assert found is not None
    variant_id, file_id = found
    extras = {"pagesViewed": 1, "variantUuid": variant["uuid"], "variantLabel": CANARY, "timeMs": 5}
    with world.rt.db.write():
        for _ in range(2):
            activity.record(world.rt, file_id, "file.viewed", extras, at=world.clock.now, variant_id=variant_id)
        activity.record(world.rt, file_id, "file.viewed", {"pagesViewed": 9}, at=world.clock.now)


def list_event_data(world: World) -> list[dict[str, Any]]:
    return [json.loads(data) for (data,) in world.rt.db.fetch_all("SELECT data FROM activity_rows ORDER BY id")]


def test_a_delete_without_parameter_removes_the_variant_and_its_link(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any]
) -> None:
    """The response has no body."""
    answer = delete_variant(world, uploaded_file, variant)
    assert (answer.status_code, answer.data) == (204, b"")
    assert list_variants(world, uploaded_file) == []
    assert delete_variant(world, uploaded_file, variant).status_code == 404
    for name in (variant["shortId"], variant["uuid"]):
        assert world.http.get(f"/{name}").status_code == 404
    assert world.http.get(f"/{uploaded_file['shortId']}").status_code == 200


def test_sessions_of_a_deleted_variant_are_kept_without_the_variant(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any]
) -> None:
    """Their rows in the feed are kept, too."""
    reader = FakeReader(world, variant["shortId"])
    reader.send_next_beacon()
    reader.read_page(30, input=True)
    before = list_view_rows(world)
    record_events(world, uploaded_file, variant)
    assert delete_variant(world, uploaded_file, variant).status_code == 204
    assert [row["fileUuid"] for row in before] == [uploaded_file["uuid"]]
    assert list_view_rows(world) == before
    assert list_sessions(world) == [("human", 30000)]
    assert world.rt.db.fetch_all("SELECT DISTINCT variant_id FROM view_sessions") == [(None,)]
    assert world.rt.db.fetch_all("SELECT DISTINCT variant_id FROM activity_rows") == [(None,)]
    assert count_rows(world, "activity_rows") == 4  # the session has recorded an event itself


@pytest.mark.parametrize(
    "query",
    ["?redact=0", "?redact=true", "?redact=", "?redact", "?redact=1&redact=0", "?redact=1&redact=1", "?redact=01",
     "?Redact=1", "?redact=1&REDACT=0"],
)  # fmt: skip
def test_another_redact_value_than_1_is_400_and_deletes_nothing(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any], query: str
) -> None:
    """A misspelled redaction must not delete the variant."""
    answer = delete_variant(world, uploaded_file, variant, query)
    assert (answer.status_code, answer.get_json()["code"]) == (400, "bad_request")
    assert [row["label"] for row in list_variants(world, uploaded_file)] == [variant["label"]]


def test_other_parameters_of_a_delete_are_ignored(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any]
) -> None:
    assert delete_variant(world, uploaded_file, variant, "?purge=1").status_code == 204
    assert list_variants(world, uploaded_file) == []


def test_a_redaction_removes_the_label_and_keeps_the_link(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any]
) -> None:
    """A second redaction is 204, too."""
    record_events(world, uploaded_file, variant)
    for _ in range(2):
        answer = delete_variant(world, uploaded_file, variant, "?redact=1")
        assert (answer.status_code, answer.data) == (204, b"")
    expected = {key: value for key, value in variant.items() if key != "label"} | {"redacted": True}
    assert list_variants(world, uploaded_file) == [expected]
    assert world.http.get(f"/{variant['shortId']}").status_code == 200


def test_a_redaction_removes_the_label_from_stored_events(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any]
) -> None:
    """The other keys do not change."""
    record_events(world, uploaded_file, variant)
    common = {"fileUuid": uploaded_file["uuid"], "fileName": "report.pdf"}
    own = {"pagesViewed": 1, "variantUuid": variant["uuid"], "timeMs": 5}
    delete_variant(world, uploaded_file, variant, "?redact=1")
    found = list_event_data(world)
    assert found == [common | own, common | own, common | {"pagesViewed": 9}]
    # PostgreSQL does not preserve the order of the remaining keys of a JSON object.
    assert ON_POSTGRESQL or list(found[0]) == ["fileUuid", "fileName", "pagesViewed", "variantUuid", "timeMs"]


def test_a_redaction_of_one_variant_keeps_the_labels_of_others(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any]
) -> None:
    other = world.pia.post(f"/api/v1/files/{uploaded_file['uuid']}/variants", json={"label": "Bea"}).get_json()
    record_events(world, uploaded_file, variant)
    delete_variant(world, uploaded_file, other, "?redact=1")
    assert [row.get("label") for row in list_variants(world, uploaded_file)] == [None, CANARY]
    assert [row.get("variantLabel") for row in list_event_data(world)] == [CANARY, CANARY, None]


@sqlite_only
def test_the_disk_does_not_contain_a_redacted_label(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any]
) -> None:
    """This includes the log and free pages of the database."""
    record_events(world, uploaded_file, variant)
    assert CANARY in str(dump_database(world))
    assert delete_variant(world, uploaded_file, variant, "?redact=1").status_code == 204
    assert CANARY not in str(dump_database(world))
    kept = [path for path in world.rt.config.data_dir.rglob("*") if path.is_file()]
    assert {path.name for path in kept} >= {"docshare.db", "docshare.db-wal"}
    assert [path for path in kept if CANARY.encode() in path.read_bytes()] == []


def test_the_disk_does_not_contain_the_label_of_a_deleted_variant(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any]
) -> None:
    """A later redaction is not possible."""
    record_events(world, uploaded_file, variant)
    assert delete_variant(world, uploaded_file, variant).status_code == 204
    common = {"fileUuid": uploaded_file["uuid"], "fileName": "report.pdf"}
    assert list_event_data(world) == [common | {"pagesViewed": 1, "timeMs": 5}] * 2 + [common | {"pagesViewed": 9}]
    kept = [path for path in world.rt.config.data_dir.rglob("*") if path.is_file()]
    assert [path for path in kept if CANARY.encode() in path.read_bytes()] == []


def test_setting_a_label_of_a_redacted_variant_is_409_and_clearing_it_is_200(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any]
) -> None:
    """A rejected update stores none of its other fields."""
    path = f"/api/v1/files/{uploaded_file['uuid']}/variants/{variant['uuid']}"
    delete_variant(world, uploaded_file, variant, "?redact=1")
    refused = world.pia.put(path, json={"label": "Ada", "revoked": True})
    assert (refused.status_code, refused.get_json()["code"]) == (409, "conflict")
    assert [(row["revoked"], row["redacted"]) for row in list_variants(world, uploaded_file)] == [(False, True)]
    accepted = world.pia.put(path, json={"label": "", "overrides": {"allowDownload": False}})
    assert accepted.status_code == 200
    assert accepted.get_json()["redacted"] is True
    assert "label" not in accepted.get_json()


def test_a_revoked_variant_that_is_redacted_is_restored_without_its_label(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any]
) -> None:
    path = f"/api/v1/files/{uploaded_file['uuid']}/variants/{variant['uuid']}"
    world.pia.put(path, json={"revoked": True})
    assert delete_variant(world, uploaded_file, variant, "?redact=1").status_code == 204
    assert world.http.get(f"/{variant['shortId']}").status_code == 404
    assert world.pia.put(path, json={"revoked": False}).get_json().get("label") is None
    assert world.http.get(f"/{variant['shortId']}").status_code == 200


def test_a_redacted_variant_can_be_deleted(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any]
) -> None:
    delete_variant(world, uploaded_file, variant, "?redact=1")
    assert delete_variant(world, uploaded_file, variant).status_code == 204
    assert delete_variant(world, uploaded_file, variant, "?redact=1").status_code == 404


def test_download_events_omit_the_label_after_a_redaction(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any]
) -> None:
    """Earlier events are rewritten."""
    assert world.http.post(f"/{variant['shortId']}/download", buffered=True).status_code == 200
    assert [row["variantLabel"] for row in list_event_data(world)] == [CANARY]
    delete_variant(world, uploaded_file, variant, "?redact=1")
    assert world.http.post(f"/{variant['shortId']}/download", buffered=True).status_code == 200
    common = {"fileUuid": uploaded_file["uuid"], "fileName": "report.pdf", "variantUuid": variant["uuid"]}
    assert list_event_data(world) == [common, common]


def test_a_download_of_a_variant_that_is_deleted_meanwhile_omits_the_variant(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The link is checked once more before the download is recorded, so it is deleted between the two."""
    record = downloads._record_download

    def delete_and_record(*arguments: Any) -> None:
        delete_variant(world, uploaded_file, variant)
        record(*arguments)

    monkeypatch.setattr(downloads, "_record_download", delete_and_record)
    assert world.http.post(f"/{variant['shortId']}/download", buffered=True).status_code == 200
    assert list_variants(world, uploaded_file) == []
    assert list_event_data(world) == [{"fileUuid": uploaded_file["uuid"], "fileName": "report.pdf"}]


def test_events_of_a_deleted_variant_are_detached_in_batches(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each batch is a short transaction; nothing refers to the row of the variant when it is deleted."""
    with world.rt.db.write():
        world.rt.db.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000) "
            "INSERT INTO activity_rows (owner_id, file_id, variant_id, event, happened_at, data) "
            "SELECT 1, v.file_id, v.id, 'file.viewed', 1, '{}' FROM variants v, n"
        )
    left: list[Any] = []
    changed: list[int] = []
    run = world.rt.db.engine.execute_sql

    def execute_sql(sql: str, params: Any = None) -> Any:
        if sql.startswith('DELETE FROM "variants"'):
            left.append(run("SELECT COUNT(*) FROM activity_rows WHERE variant_id IS NOT NULL").fetchone())
        cursor = run(sql, params)
        changed.append(cursor.rowcount)
        return cursor

    monkeypatch.setattr(world.rt.db.engine, "execute_sql", execute_sql)
    assert delete_variant(world, uploaded_file, variant).status_code == 204
    assert left == [(0,)]
    assert max(changed) == 5000


def test_a_purge_deletes_variants_and_keeps_their_short_ids_reserved(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any]
) -> None:
    world.pia.delete(f"/api/v1/files/{uploaded_file['uuid']}?purge=1")
    assert count_rows(world, "variants") == 0
    assert world.rt.db.fetch_one("SELECT 1 FROM short_ids WHERE short_id = ?", (variant["shortId"],)) == (1,)
    assert world.http.get(f"/{variant['shortId']}").status_code == 404
