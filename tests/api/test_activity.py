"""The activity feed: all events in one stream with one cursor."""

import json
from typing import Any

import pytest

from docshare.contract.plans import Plan
from docshare.server.services.accounts import accounts
from docshare.server.workers import jobs
from tests.api.route_table import UNKNOWN_UUID
from tests.support.engines.database import record_statements, sqlite_only
from tests.support.engines.rows import count_rows, set_next_id, update_file_row
from tests.support.outside.queued_deliveries import list_activity
from tests.support.people.cast import World

INT32 = 2**31 - 1
INT64 = 2**63 - 1
DAY = 86_400_000
(DELETE_OLD_EVENTS_JOB,) = (job for job in jobs.JOBS if job.name == "delete old events")


def insert_events(world: World, file_uuid: str, event: str = "file.viewed", many: int = 1, **more: Any) -> list[int]:
    """Insert ``many`` events of the file and return their ids; ``at`` is the time they happened."""
    found = world.rt.db.fetch_one("SELECT id, owner_id, original_name FROM files WHERE uuid = ?", (file_uuid,))
    assert found is not None
    at = more.pop("at", world.clock.now)
    data = json.dumps({"fileUuid": file_uuid, "fileName": found[2], **more}, ensure_ascii=False)
    row = "INSERT INTO activity_rows (file_id, owner_id, event, happened_at, data) VALUES (?, ?, ?, ?, ?)"
    with world.rt.db.write():
        for _ in range(many):
            world.rt.db.execute(row, (*found[:2], event, at, data))
        ids = world.rt.db.fetch_all("SELECT id FROM activity_rows ORDER BY id DESC LIMIT ?", (many,))
    return sorted(ident for (ident,) in ids)


def list_ids(world: World, query: str) -> list[int]:
    return [row["id"] for row in list_activity(world, query)]


def test_an_empty_feed_is_an_empty_array(world: World) -> None:
    assert world.pia.get("/api/v1/activity").data == b"[]"


def test_a_row_is_an_event_envelope_with_an_id(world: World) -> None:
    made = world.pia.upload(name="Q3.pdf")
    assert world.http.post(f"/{made['shortId']}/download", buffered=True).status_code == 200
    answer = world.pia.get("/api/v1/activity")
    assert answer.headers["Content-Type"] == "application/json"
    (row,) = answer.get_json()
    assert list(row.items()) == [
        ("id", 2),
        ("event", "file.downloaded"),
        ("timestamp", "2026-09-21T14:13:20.000Z"),
        ("data", {"fileUuid": made["uuid"], "fileName": "Q3.pdf"}),
    ]
    assert list(row["data"]) == ["fileUuid", "fileName"]


@pytest.mark.parametrize("since", [None, "0", "", "x", "-1", " 3", "3.0", "３"])
def test_an_invalid_cursor_lists_the_newest_rows_first(world: World, since: str | None) -> None:
    made = insert_events(world, world.pia.upload()["uuid"], many=5)
    assert list_ids(world, "" if since is None else f"since={since}") == made[::-1]


def test_a_cursor_lists_later_rows_in_ascending_order(world: World) -> None:
    made = insert_events(world, world.pia.upload()["uuid"], many=5)
    assert made[0] == 2
    assert list_ids(world, "since=1") == made
    assert list_ids(world, f"since={made[1]}&limit=2") == made[2:4]
    assert list_ids(world, f"since={made[-1]}") == []


def test_a_cursor_is_a_64_bit_number(world: World) -> None:
    """The cursor follows the same rules as that of the gate responses."""
    uuid = world.pia.upload()["uuid"]
    set_next_id(world, "activity_rows", INT32 + 1)
    first, second = insert_events(world, uuid, many=2)
    assert first == INT32 + 1
    assert list_ids(world, f"since={first}") == [second]
    for since in (second, INT64, INT64 + 1, "9" * 5000):
        assert list_ids(world, f"since={since}") == []


@pytest.mark.parametrize(("limit", "rows"), [(None, 50), ("x", 50), ("0", 1), ("7", 7), ("100", 100), ("1000", 100)])
def test_a_limit_is_clamped_and_never_rejected(world: World, limit: str | None, rows: int) -> None:
    insert_events(world, world.pia.upload()["uuid"], many=103)
    assert len(list_ids(world, "" if limit is None else f"limit={limit}")) == rows


def test_the_file_filter_accepts_a_uuid_in_any_case_and_a_short_id(world: World) -> None:
    one, other = world.pia.upload(), world.pia.upload()
    wanted = insert_events(world, one["uuid"], many=2)
    insert_events(world, other["uuid"])
    for name in (one["uuid"], one["uuid"].upper(), one["shortId"]):
        assert list_ids(world, f"since=1&file={name}") == wanted
        assert list_ids(world, f"file={name}") == wanted[::-1]


@pytest.mark.parametrize("name", ["", "nope", UNKNOWN_UUID, "abcdefghijkl", "%00", "my-report", "a" * 5000])
def test_an_unknown_file_has_no_rows(world: World, name: str) -> None:
    made = world.pia.upload()
    update_file_row(world, made["uuid"], slug="my-report")
    insert_events(world, made["uuid"])
    assert list_ids(world, f"file={name}") == []


def test_rows_of_another_account_are_not_listed(world: World) -> None:
    made = world.pia.upload()
    insert_events(world, made["uuid"])
    for query in ("", "since=1", f"file={made['uuid']}", f"file={made['shortId']}&kind=file.viewed"):
        assert list_activity(world, query, world.mal) == []


def test_the_kind_filter_accepts_one_kind(world: World) -> None:
    made = world.pia.upload()
    kinds = ["file.viewed", "note.created", "access.denied", "note.created", "file.viewed"]
    found = [insert_events(world, made["uuid"], kind)[0] for kind in kinds]
    assert list_ids(world, "since=1&kind=note.created") == [found[1], found[3]]
    assert list_ids(world, "kind=note.created&limit=1") == [found[3]]
    assert list_ids(world, f"since={found[1]}&kind=note.created&file={made['shortId']}") == [found[3]]
    assert list_ids(world, "kind=access.denied") == [found[2]]
    assert list_ids(world, "kind=file.burned") == []


def test_the_kind_filter_accepts_several_kinds(world: World) -> None:
    made = world.pia.upload()
    kinds = ["file.viewed", "note.created", "access.denied", "gate.completed", "note.created"]
    found = [insert_events(world, made["uuid"], kind)[0] for kind in kinds]
    asked = "kind=note.created,gate.completed,note.created"
    assert list_ids(world, f"since=1&{asked}") == [found[1], found[3], found[4]]
    assert list_ids(world, f"{asked}&limit=2&file={made['uuid']}") == [found[4], found[3]]
    accounts.set_tier(world.rt, world.pia.email, Plan.BASIC)
    assert list_ids(world, f"since=1&{asked}") == [found[1], found[4]]


@pytest.mark.parametrize(
    "kind", ["", "all", "view", "File.viewed", "webhook.test", "file.viewed,", "file.viewed,x", "%00", "x" * 5000]
)
def test_an_unknown_kind_is_400(world: World, kind: str) -> None:
    for person in (world.fay, world.pia):
        answer = person.get(f"/api/v1/activity?kind={kind}")
        assert answer.status_code == 400
        assert answer.get_json()["code"] == "bad_request"


@pytest.mark.parametrize("plan", [Plan.FREE, Plan.BASIC])
def test_gate_completed_rows_are_omitted_below_pro(world: World, plan: Plan) -> None:
    """The rows are omitted without an error, and listed again after an upgrade to Pro."""
    made = world.pia.upload()
    (before,) = insert_events(world, made["uuid"])
    (gate,) = insert_events(world, made["uuid"], "gate.completed")
    (after,) = insert_events(world, made["uuid"])
    accounts.set_tier(world.rt, world.pia.email, plan)
    assert list_ids(world, "since=1") == list_ids(world, f"since=1&file={made['uuid']}") == [before, after]
    assert list_ids(world, "kind=gate.completed") == []
    accounts.set_tier(world.rt, world.pia.email, Plan.PRO)
    assert list_ids(world, "since=1") == [before, gate, after]
    assert list_ids(world, "kind=gate.completed") == [gate]


def test_rows_of_a_trashed_file_are_hidden_and_reappear_with_their_ids(world: World) -> None:
    trashed, kept = world.pia.upload(), world.pia.upload()
    wanted = [insert_events(world, made["uuid"])[0] for made in (trashed, kept, trashed)]
    world.pia.delete(f"/api/v1/files/{trashed['uuid']}")
    assert list_ids(world, "since=1") == list_ids(world, "since=1&kind=file.viewed") == [wanted[1]]
    assert list_ids(world, f"file={trashed['shortId']}") == []
    assert world.pia.post(f"/api/v1/files/{trashed['uuid']}/restore").status_code == 200
    assert list_ids(world, "since=1") == wanted


def test_rows_are_hidden_as_soon_as_the_file_is_marked_as_trashed(world: World) -> None:
    made = world.pia.upload()
    insert_events(world, made["uuid"])
    update_file_row(world, made["uuid"], trashed_at=world.clock.now, purge_at=world.clock.now + 1)
    assert list_ids(world, "") == []


def test_ids_of_deleted_rows_are_not_reused(world: World) -> None:
    first, second = world.pia.upload(), world.pia.upload()
    assert insert_events(world, first["uuid"]) == [2]
    world.pia.delete(f"/api/v1/files/{first['uuid']}?purge=1")
    assert count_rows(world, "activity_rows") == 0
    assert insert_events(world, second["uuid"]) == [3]


def test_events_are_deleted_after_90_days(world: World) -> None:
    """Old events are deleted in batches."""
    made = world.pia.upload()
    now = world.clock.now
    insert_events(world, made["uuid"], at=now - 90 * DAY, many=2500)
    kept = insert_events(world, made["uuid"], at=now - 90 * DAY + 1)
    jobs.run_job(world.rt, DELETE_OLD_EVENTS_JOB)
    assert list_ids(world, "since=1") == kept
    world.clock.advance(milliseconds=1)
    jobs.run_job(world.rt, DELETE_OLD_EVENTS_JOB)
    assert count_rows(world, "activity_rows") == 0


@sqlite_only
@pytest.mark.parametrize("kind", ["", "&kind=note.created", "&kind=note.created,file.viewed"])
@pytest.mark.parametrize("query", ["", "&since=5", "&file={uuid}", "&file={uuid}&since=5", "&file={shortId}"])
@pytest.mark.parametrize("plan", [Plan.FREE, Plan.PRO])
def test_a_page_is_read_from_an_index_without_sorting(world: World, plan: Plan, query: str, kind: str) -> None:
    made = world.pia.upload()
    accounts.set_tier(world.rt, world.pia.email, plan)
    path = f"/api/v1/activity?limit=9{query}{kind}".format(**made)
    seen = record_statements(world, path)
    assert len(seen) == 2
    plan_of_it = " ".join(str(row[3]) for row in world.rt.db.fetch_all(f"EXPLAIN QUERY PLAN {seen[-1]}"))
    index = "file" if "file" in query else "owner" if "," in kind or not kind else "kind"
    assert f"USING INDEX activity_rows_{index}" in plan_of_it
    assert "SCAN" not in plan_of_it
    assert "TEMP B-TREE" not in plan_of_it
