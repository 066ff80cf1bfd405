"""Out of the trash again (gap choices: Additions, Decided once)."""

import threading
from dataclasses import replace
from typing import Any

import pytest
from werkzeug.test import TestResponse

from docshare.contract.plans import Plan
from docshare.server.services.accounts import accounts
from docshare.server.services.files import purge, short_ids, trash
from docshare.server.services.operations import sweeps
from tests.api.table import UNKNOWN_UUID
from tests.support.cast import Person, World
from tests.support.pdfs import simple_pdf
from tests.support.rows import add_download, add_gate, add_view, change_file, count, set_next_id

CONTENT = simple_pdf(pages=3)
STREAMS = ("view", "download", "gate")


def trashed(who: Person) -> dict[str, Any]:
    made = who.upload(CONTENT)
    assert who.delete(f"/api/v1/files/{made['uuid']}").get_json()["trashed"] is True
    return made


def restore(who: Person, name: str) -> TestResponse:
    return who.post(f"/api/v1/files/{name}/restore")


def streams(world: World, file: str | None = None) -> dict[str, list[Any]]:
    query = f"&file={file}" if file else ""
    return {name: world.pia.get(f"/api/v1/events?type={name}{query}").get_json() for name in STREAMS}


@pytest.mark.parametrize("key", ["uuid", "shortId"])
def test_a_restored_file_is_as_it_was(world: World, key: str) -> None:
    made = world.pia.upload(CONTENT)
    change_file(world, made["uuid"], slug="q3", view_count=4, settings='{"allowDownload":false}')
    before = world.pia.get(f"/api/v1/files/{made['uuid']}").get_json()
    world.pia.delete(f"/api/v1/files/{made['uuid']}")
    world.clock.advance(days=20)
    answer = restore(world.pia, made[key])
    assert answer.status_code == 200
    without = {name: value for name, value in before.items() if name != "revisions"}
    assert answer.get_json() == without
    assert world.pia.get(f"/api/v1/files/{made['uuid']}").get_json() == before
    assert world.pia.get(f"/api/v1/files/{made['uuid']}/content", buffered=True).data == CONTENT
    for path in (made["shortId"], made["uuid"], "q3"):
        assert world.http.get(f"/{path}").status_code == 200


def test_events_vanish_with_the_trash_and_come_back_with_the_same_ids(world: World) -> None:
    """Trashed files' events vanish from all streams and return on restore with the same ids."""
    made, other = world.pia.upload(), world.pia.upload()
    for row in (made, other, made):
        add_view(world, row["uuid"])
        add_download(world, row["uuid"])
        add_gate(world, row["uuid"], {"mail": "a@b.example"})
    before, of_file = streams(world), streams(world, made["uuid"])
    world.pia.delete(f"/api/v1/files/{made['uuid']}")
    assert {name: len(rows) for name, rows in streams(world).items()} == dict.fromkeys(STREAMS, 1)
    assert streams(world, made["uuid"]) == {name: [] for name in STREAMS}
    restore(world.pia, made["uuid"])
    assert streams(world) == before
    assert streams(world, made["uuid"]) == of_file


def test_ids_that_were_destroyed_are_never_given_again(world: World) -> None:
    """Hard-deleted ids are never reused."""
    made = world.pia.upload()
    last = add_view(world, made["uuid"])
    world.pia.delete(f"/api/v1/files/{made['uuid']}?purge=1")
    assert add_view(world, world.pia.upload()["uuid"]) == last + 1


def test_only_a_trashed_file_of_the_caller_can_be_restored(world: World) -> None:
    """404 unless trashed and yours."""
    active, mine, gone = world.pia.upload(), trashed(world.pia), trashed(world.pia)
    world.pia.delete(f"/api/v1/files/{gone['uuid']}?purge=1")
    refused = [
        restore(world.pia, active["uuid"]),
        restore(world.mal, active["uuid"]),
        restore(world.mal, mine["uuid"]),
        restore(world.pia, gone["uuid"]),
        restore(world.pia, UNKNOWN_UUID),
        restore(world.pia, "q3"),
    ]
    assert [answer.status_code for answer in refused] == [404] * 6
    assert len({answer.data for answer in refused}) == 1
    assert restore(world.pia, mine["uuid"]).status_code == 200
    assert restore(world.pia, mine["uuid"]).status_code == 404


def test_restoring_needs_a_free_slot(world: World) -> None:
    """It holds no file slot; restoring needs a free one (403 ``forbidden``)."""
    made = trashed(world.bea)
    accounts.set_tier(world.rt, world.bea.email, Plan.FREE)
    for _ in range(3):
        last = world.bea.upload()
    answer = restore(world.bea, made["uuid"])
    assert (answer.status_code, answer.get_json()["code"]) == (403, "forbidden")
    assert "requires the" not in answer.get_json()["detail"]
    world.bea.delete(f"/api/v1/files/{last['uuid']}")
    assert restore(world.bea, made["uuid"]).status_code == 200


def test_the_promised_date_ends_the_time_for_a_restore(world: World) -> None:
    """Trashed files are restorable until ``purgeAt``, whatever the plan became (hardening G27)."""
    made = trashed(world.bea)
    accounts.set_tier(world.rt, world.bea.email, Plan.PRO)
    world.clock.advance(days=7, milliseconds=-1)
    assert restore(world.bea, made["uuid"]).status_code == 200
    world.bea.delete(f"/api/v1/files/{made['uuid']}")
    world.clock.advance(days=30)
    assert restore(world.bea, made["uuid"]).status_code == 404
    assert sweeps.purge_due(world.rt) == 1


def test_a_restored_file_gets_a_new_date_when_it_is_deleted_again(world: World) -> None:
    made = trashed(world.pia)
    world.clock.advance(days=29)
    restore(world.pia, made["uuid"])
    again = world.pia.delete(f"/api/v1/files/{made['uuid']}").get_json()
    assert again["trashedAt"] == "2026-10-20T14:13:20.000Z"
    assert again["purgeAt"] == "2026-11-19T14:13:20.000Z"


def test_the_trash_hides_a_file_everywhere_but_from_delete_and_restore(world: World) -> None:
    made = trashed(world.pia)
    path = f"/api/v1/files/{made['uuid']}"
    for method, rest in (("GET", ""), ("GET", "/content"), ("POST", "/content"), ("GET", "/qr-code")):
        answer = world.pia.http.open(path + rest, method=method, headers=world.pia.headers)
        assert answer.status_code == 404, rest
    assert world.pia.get("/api/v1/files").get_json() == []
    assert world.pia.get("/api/v1/user").get_json()["limits"]["activeFiles"] == 0


def test_a_short_id_never_returns(world: World) -> None:
    """A short id stays reserved in the trash, and after purge it never returns."""
    made = trashed(world.pia)
    for _ in range(2):
        fresh = iter([made["shortId"], "B" * 12])
        with world.rt.db.write():
            assert short_ids.take(replace(world.rt, token=lambda chars, ids=fresh: next(ids))) == "B" * 12
            world.rt.db.execute("DELETE FROM short_ids WHERE short_id = ?", ("B" * 12,))
        world.pia.delete(f"/api/v1/files/{made['uuid']}?purge=1")
    assert count(world, "files") == 0


def many_views(world: World, made: dict[str, Any], rows: int) -> None:
    with world.rt.db.write():
        world.rt.db.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
            "INSERT INTO view_rows (owner_id, file_id, pages_viewed, time_ms) "
            "SELECT owner_id, id, 1, 1 FROM files, n WHERE uuid = ?",
            (rows, made["uuid"]),
        )


def hidden(world: World) -> int:
    found = world.rt.db.row("SELECT COUNT(*) FROM view_rows WHERE hidden = 1")
    assert found is not None
    return int(found[0])


def test_a_much_read_file_comes_back_in_batches(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    made = world.pia.upload()
    many_views(world, made, 12_000)
    world.pia.delete(f"/api/v1/files/{made['uuid']}")
    assert hidden(world) == 12_000
    steps: list[int] = []
    unhide = purge.unhide_some
    monkeypatch.setattr(purge, "unhide_some", lambda rt, ident: steps.append(hidden(world)) or unhide(rt, ident))
    assert restore(world.pia, made["uuid"]).status_code == 200
    assert steps == [12_000, 7_000, 2_000]
    assert hidden(world) == 0


class Crash(BaseException):
    """The process ends here."""


def test_a_restore_that_a_crash_cut_short_leaves_the_file_in_the_trash(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = world.pia.upload()
    many_views(world, made, 12_000)
    world.pia.delete(f"/api/v1/files/{made['uuid']}")
    unhide = purge.unhide_some

    def crash_at_the_second(rt: Any, ident: int) -> bool:
        if hidden(world) < 12_000:
            raise Crash
        return unhide(rt, ident)

    with monkeypatch.context() as patched:
        patched.setattr(purge, "unhide_some", crash_at_the_second)
        with pytest.raises(Crash):
            restore(world.pia, made["uuid"])
    assert hidden(world) == 7_000
    assert world.pia.get("/api/v1/events").get_json() == []
    sweeps.at_start(world.rt)
    assert hidden(world) == 12_000
    assert restore(world.pia, made["uuid"]).status_code == 200
    assert hidden(world) == 0


def test_a_restore_waits_until_a_delete_has_hidden_everything(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Side by side they would undo each other's batches without end."""
    made = world.pia.upload()
    many_views(world, made, 12_000)
    write = type(world.rt.db).write
    calls = [0]
    statuses: list[int] = []
    restoring = threading.Thread(target=lambda: statuses.append(restore(world.pia, made["uuid"]).status_code))

    def restored_after_the_first_batch(self: Any) -> Any:
        calls[0] += 1
        if calls[0] == 3:  # the mark, one batch, and now somebody restores
            restoring.start()
            restoring.join(0.3)
        return write(self)

    monkeypatch.setattr(type(world.rt.db), "write", restored_after_the_first_batch)
    world.pia.delete(f"/api/v1/files/{made['uuid']}")
    restoring.join(20)
    assert statuses == [200]
    assert calls[0] < 20
    assert hidden(world) == 0
    assert len(world.pia.get("/api/v1/events?limit=100").get_json()) == 100


def test_the_operator_sees_restores_and_empties_the_trash(world: World) -> None:
    first, second = trashed(world.pia), trashed(world.pia)
    world.pia.upload()
    assert [row.uuid for row in trash.list_trashed(world.rt, world.pia.email)] == [second["uuid"], first["uuid"]]
    assert trash.list_trashed(world.rt, world.mal.email) == []
    assert trash.restore_any(world.rt, first["shortId"]).uuid == first["uuid"]
    assert trash.purge_any(world.rt, second["uuid"]).uuid == second["uuid"]
    assert trash.list_trashed(world.rt, world.pia.email) == []
    assert count(world, "files") == 2
    set_next_id(world, "view_rows", 9)
    assert add_view(world, first["uuid"]) == 9
