"""Restoring files from the trash."""

import threading
from dataclasses import replace
from typing import Any

import pytest
from werkzeug.test import TestResponse

from docshare.contract.plans import Plan
from docshare.server.services.accounts import accounts
from docshare.server.services.files import purge, short_ids, trash
from docshare.server.services.operations import sweeps
from tests.api.route_table import UNKNOWN_UUID
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.rows import (
    count_rows,
    insert_download,
    insert_gate_response,
    insert_view,
    set_next_id,
    update_file_row,
)
from tests.support.people.cast import Person, World
from tests.support.people.interrupted import is_lock_contended
from tests.support.polling import wait_until

CONTENT = simple_pdf(pages=3)
EVENT_TYPES = ("view", "download", "gate")


def trash_file(who: Person) -> dict[str, Any]:
    made = who.upload(CONTENT)
    assert who.delete(f"/api/v1/files/{made['uuid']}").get_json()["trashed"] is True
    return made


def restore_file(who: Person, name: str) -> TestResponse:
    return who.post(f"/api/v1/files/{name}/restore")


def list_events_by_type(world: World, file: str | None = None) -> dict[str, list[Any]]:
    query = f"&file={file}" if file else ""
    return {name: world.pia.get(f"/api/v1/events?type={name}{query}").get_json() for name in EVENT_TYPES}


@pytest.mark.parametrize("key", ["uuid", "shortId"])
def test_a_restore_brings_back_the_file_unchanged(world: World, key: str) -> None:
    made = world.pia.upload(CONTENT)
    update_file_row(world, made["uuid"], slug="q3", view_count=4, settings='{"allowDownload":false}')
    before = world.pia.get(f"/api/v1/files/{made['uuid']}").get_json()
    world.pia.delete(f"/api/v1/files/{made['uuid']}")
    world.clock.advance(days=20)
    answer = restore_file(world.pia, made[key])
    assert answer.status_code == 200
    without = {name: value for name, value in before.items() if name != "revisions"}
    assert answer.get_json() == without
    assert world.pia.get(f"/api/v1/files/{made['uuid']}").get_json() == before
    assert world.pia.get(f"/api/v1/files/{made['uuid']}/content", buffered=True).data == CONTENT
    for path in (made["shortId"], made["uuid"], "q3"):
        assert world.http.get(f"/{path}").status_code == 200


def test_events_of_a_trashed_file_are_hidden_and_reappear_with_the_same_ids(world: World) -> None:
    """This applies to every type of event."""
    made, other = world.pia.upload(), world.pia.upload()
    for row in (made, other, made):
        insert_view(world, row["uuid"])
        insert_download(world, row["uuid"])
        insert_gate_response(world, row["uuid"], {"mail": "a@b.example"})
    before, of_file = list_events_by_type(world), list_events_by_type(world, made["uuid"])
    world.pia.delete(f"/api/v1/files/{made['uuid']}")
    assert {name: len(rows) for name, rows in list_events_by_type(world).items()} == dict.fromkeys(EVENT_TYPES, 1)
    assert list_events_by_type(world, made["uuid"]) == {name: [] for name in EVENT_TYPES}
    restore_file(world.pia, made["uuid"])
    assert list_events_by_type(world) == before
    assert list_events_by_type(world, made["uuid"]) == of_file


def test_ids_of_deleted_events_are_not_reused(world: World) -> None:
    """Otherwise a client would skip the new row."""
    made = world.pia.upload()
    last = insert_view(world, made["uuid"])
    world.pia.delete(f"/api/v1/files/{made['uuid']}?purge=1")
    assert insert_view(world, world.pia.upload()["uuid"]) == last + 1


def test_only_a_trashed_file_of_the_caller_can_be_restored(world: World) -> None:
    """Everything else is the same 404."""
    active, mine, gone = world.pia.upload(), trash_file(world.pia), trash_file(world.pia)
    world.pia.delete(f"/api/v1/files/{gone['uuid']}?purge=1")
    refused = [
        restore_file(world.pia, active["uuid"]),
        restore_file(world.mal, active["uuid"]),
        restore_file(world.mal, mine["uuid"]),
        restore_file(world.pia, gone["uuid"]),
        restore_file(world.pia, UNKNOWN_UUID),
        restore_file(world.pia, "q3"),
    ]
    assert [answer.status_code for answer in refused] == [404] * 6
    assert len({answer.data for answer in refused}) == 1
    assert restore_file(world.pia, mine["uuid"]).status_code == 200
    assert restore_file(world.pia, mine["uuid"]).status_code == 404


def test_a_restore_at_the_file_limit_is_403(world: World) -> None:
    """Trashed files do not count against the file limit; the code is ``forbidden``."""
    made = trash_file(world.bea)
    accounts.set_tier(world.rt, world.bea.email, Plan.FREE)
    for _ in range(3):
        last = world.bea.upload()
    answer = restore_file(world.bea, made["uuid"])
    assert (answer.status_code, answer.get_json()["code"]) == (403, "forbidden")
    assert "requires the" not in answer.get_json()["detail"]
    world.bea.delete(f"/api/v1/files/{last['uuid']}")
    assert restore_file(world.bea, made["uuid"]).status_code == 200


def test_a_file_can_be_restored_until_its_purge_date(world: World) -> None:
    """A change of the plan does not change the purge date."""
    made = trash_file(world.bea)
    accounts.set_tier(world.rt, world.bea.email, Plan.PRO)
    world.clock.advance(days=7, milliseconds=-1)
    assert restore_file(world.bea, made["uuid"]).status_code == 200
    world.bea.delete(f"/api/v1/files/{made['uuid']}")
    world.clock.advance(days=30)
    assert restore_file(world.bea, made["uuid"]).status_code == 404
    assert sweeps.purge_due(world.rt) == 1


def test_a_restored_file_gets_a_new_purge_date_when_it_is_deleted_again(world: World) -> None:
    made = trash_file(world.pia)
    world.clock.advance(days=29)
    restore_file(world.pia, made["uuid"])
    again = world.pia.delete(f"/api/v1/files/{made['uuid']}").get_json()
    assert again["trashedAt"] == "2026-10-20T14:13:20.000Z"
    assert again["purgeAt"] == "2026-11-19T14:13:20.000Z"


def test_only_delete_and_restore_find_a_trashed_file(world: World) -> None:
    made = trash_file(world.pia)
    path = f"/api/v1/files/{made['uuid']}"
    for method, rest in (("GET", ""), ("GET", "/content"), ("POST", "/content"), ("GET", "/qr-code")):
        answer = world.pia.http.open(path + rest, method=method, headers=world.pia.headers)
        assert answer.status_code == 404, rest
    assert world.pia.get("/api/v1/files").get_json() == []
    assert world.pia.get("/api/v1/user").get_json()["limits"]["activeFiles"] == 0


def test_a_short_id_is_never_reused(world: World) -> None:
    """It stays reserved in the trash and after a purge."""
    made = trash_file(world.pia)
    for _ in range(2):
        fresh = iter([made["shortId"], "B" * 12])
        with world.rt.db.write():
            assert (
                short_ids.create_short_id(replace(world.rt, random_token=lambda chars, ids=fresh: next(ids)))
                == "B" * 12
            )
            world.rt.db.execute("DELETE FROM short_ids WHERE short_id = ?", ("B" * 12,))
        world.pia.delete(f"/api/v1/files/{made['uuid']}?purge=1")
    assert count_rows(world, "files") == 0


def insert_many_views(world: World, made: dict[str, Any], rows: int) -> None:
    with world.rt.db.write():
        world.rt.db.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
            "INSERT INTO view_rows (owner_id, file_id, pages_viewed, time_ms) "
            "SELECT owner_id, id, 1, 1 FROM files, n WHERE uuid = ?",
            (rows, made["uuid"]),
        )


def count_hidden_rows(world: World) -> int:
    found = world.rt.db.fetch_one("SELECT COUNT(*) FROM view_rows WHERE hidden = 1")
    assert found is not None
    return int(found[0])


def test_a_file_with_many_views_is_restored_in_batches(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    made = world.pia.upload()
    insert_many_views(world, made, 12_000)
    world.pia.delete(f"/api/v1/files/{made['uuid']}")
    assert count_hidden_rows(world) == 12_000
    steps: list[int] = []
    unhide = purge.unhide_batch
    monkeypatch.setattr(
        purge, "unhide_batch", lambda rt, ident: steps.append(count_hidden_rows(world)) or unhide(rt, ident)
    )
    assert restore_file(world.pia, made["uuid"]).status_code == 200
    assert steps == [12_000, 7_000, 2_000]
    assert count_hidden_rows(world) == 0


class RestoreCrash(BaseException):
    """Simulate the end of the process."""


def test_a_restore_that_a_crash_interrupts_leaves_the_file_in_the_trash(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = world.pia.upload()
    insert_many_views(world, made, 12_000)
    world.pia.delete(f"/api/v1/files/{made['uuid']}")
    unhide = purge.unhide_batch

    def crash_at_second_batch(rt: Any, ident: int) -> bool:
        if count_hidden_rows(world) < 12_000:
            raise RestoreCrash
        return unhide(rt, ident)

    with monkeypatch.context() as patched:
        patched.setattr(purge, "unhide_batch", crash_at_second_batch)
        with pytest.raises(RestoreCrash):
            restore_file(world.pia, made["uuid"])
    assert count_hidden_rows(world) == 7_000
    assert world.pia.get("/api/v1/events").get_json() == []
    sweeps.clean_at_start(world.rt)
    assert count_hidden_rows(world) == 12_000
    assert restore_file(world.pia, made["uuid"]).status_code == 200
    assert count_hidden_rows(world) == 0


def test_a_restore_waits_for_a_running_delete(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise both would undo the batches of the other forever."""
    made = world.pia.upload()
    insert_many_views(world, made, 12_000)
    write = type(world.rt.db).write
    calls = [0]
    statuses: list[int] = []
    waits: list[bool] = []
    restoring = threading.Thread(target=lambda: statuses.append(restore_file(world.pia, made["uuid"]).status_code))

    def restore_after_first_batch(self: Any, *protects: Any) -> Any:
        calls[0] += 1
        if calls[0] == 3:  # after the mark and one batch
            restoring.start()
            wait_until(lambda: not restoring.is_alive() or is_lock_contended(world))
            waits.append(restoring.is_alive())
        return write(self, *protects)

    monkeypatch.setattr(type(world.rt.db), "write", restore_after_first_batch)
    world.pia.delete(f"/api/v1/files/{made['uuid']}")
    restoring.join(20)
    assert (statuses, waits) == ([200], [True])
    assert calls[0] < 20
    assert count_hidden_rows(world) == 0
    assert len(world.pia.get("/api/v1/events?limit=100").get_json()) == 100


def test_the_operator_can_list_restore_and_purge_trashed_files(world: World) -> None:
    first, second = trash_file(world.pia), trash_file(world.pia)
    world.pia.upload()
    assert [row.uuid for row in trash.list_trashed(world.rt, world.pia.email)] == [second["uuid"], first["uuid"]]
    assert trash.list_trashed(world.rt, world.mal.email) == []
    assert trash.restore_any(world.rt, first["shortId"]).uuid == first["uuid"]
    assert trash.purge_any(world.rt, second["uuid"]).uuid == second["uuid"]
    assert trash.list_trashed(world.rt, world.pia.email) == []
    assert count_rows(world, "files") == 2
    set_next_id(world, "view_rows", 9)
    assert insert_view(world, first["uuid"]) == 9
