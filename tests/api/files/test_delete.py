"""Delete, trash and purge."""

from pathlib import Path
from typing import Any

import pytest

from docshare.contract.plans import Plan
from docshare.server.pdf.pages import PageStore
from docshare.server.services.accounts import accounts
from docshare.server.services.files import removals, sealed_blobs
from docshare.server.services.operations import sweeps
from docshare.server.store.stored_bytes import StoredBytes
from tests.api.route_table import UNKNOWN_UUID
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.rows import count_rows, insert_download, insert_gate_response, insert_view, update_file_row
from tests.support.people.cast import World

DAY = 86_400_000


def list_blobs(world: World) -> list[Path]:
    return [path for path in world.rt.blobs.root.rglob("*") if path.is_file()]


def test_delete_is_permanent_on_free(world: World) -> None:
    """The response has no ``trashedAt`` and no ``purgeAt``."""
    made = world.fay.upload()
    answer = world.fay.delete(f"/api/v1/files/{made['uuid']}")
    assert answer.status_code == 200
    assert answer.get_json() == {"trashed": False}
    assert count_rows(world, "files") == 0
    assert list_blobs(world) == []


@pytest.mark.parametrize(
    ("person", "purge_at"), [("bea", "2026-09-28T14:13:20.000Z"), ("pia", "2026-10-21T14:13:20.000Z")]
)
def test_delete_moves_a_file_to_the_trash_on_basic_and_pro(world: World, person: str, purge_at: str) -> None:
    """The trash is purged after 7 days on Basic and after 30 days on Pro."""
    owner = getattr(world, person)
    made = owner.upload()
    answer = owner.delete(f"/api/v1/files/{made['shortId']}")
    assert answer.status_code == 200
    assert answer.get_json() == {"trashed": True, "trashedAt": "2026-09-21T14:13:20.000Z", "purgeAt": purge_at}
    assert len(list_blobs(world)) == 1


def test_deleting_a_trashed_file_returns_the_same_dates(world: World) -> None:
    """A second delete is 200 and does not postpone the purge."""
    path = f"/api/v1/files/{world.pia.upload()['uuid']}"
    first = world.pia.delete(path).get_json()
    world.clock.advance(days=3)
    again = world.pia.delete(path)
    assert again.status_code == 200
    assert again.get_json() == first


@pytest.mark.parametrize("query", ["purge=0", "purge=true", "purge=", "purge=01", "purge=1%20", "purge=%EF%BC%91",
                                   "purge", "Purge=1", "purge=1&purge=0", "purge=2"])  # fmt: skip
def test_only_purge_1_purges_a_file(world: World, query: str) -> None:
    """Any other value moves the file to the trash."""
    path = f"/api/v1/files/{world.pia.upload()['uuid']}?{query}"
    assert world.pia.delete(path).get_json()["trashed"] is True
    assert world.pia.delete(path).get_json()["trashed"] is True
    assert len(list_blobs(world)) == 1


@pytest.mark.parametrize("trashed_first", [False, True])
@pytest.mark.parametrize("person", ["fay", "bea", "pia"])
def test_purge_deletes_active_and_trashed_files(world: World, person: str, trashed_first: bool) -> None:
    owner = getattr(world, person)
    made = owner.upload()
    if trashed_first:
        update_file_row(world, made["uuid"], trashed_at=world.clock.now, purge_at=world.clock.now + DAY)
    answer = owner.delete(f"/api/v1/files/{made['uuid']}?purge=1")
    assert answer.get_json() == {"trashed": False}
    assert list_blobs(world) == []
    assert owner.delete(f"/api/v1/files/{made['uuid']}?purge=1").status_code == 404


def test_a_foreign_active_file_is_403_and_a_foreign_trashed_one_404(world: World) -> None:
    """The 404 of a foreign trashed file equals that of an unknown id."""
    made = world.pia.upload()
    for name in (made["uuid"], made["shortId"]):
        answer = world.mal.delete(f"/api/v1/files/{name}?purge=1")
        assert (answer.status_code, answer.get_json()["code"]) == (403, "forbidden")
        assert answer.headers["WWW-Authenticate"] == "Bearer"
    world.pia.delete(f"/api/v1/files/{made['uuid']}")
    foreign = world.mal.delete(f"/api/v1/files/{made['uuid']}?purge=1")
    unknown = world.mal.delete(f"/api/v1/files/{UNKNOWN_UUID}")
    assert (foreign.status_code, foreign.get_json()["code"]) == (404, "not_found")
    assert foreign.data == unknown.data
    assert len(list_blobs(world)) == 1


def test_an_unclaimed_file_is_404(world: World) -> None:
    made = world.pia.upload()
    update_file_row(world, made["uuid"], owner_id=None)
    assert world.pia.delete(f"/api/v1/files/{made['uuid']}").status_code == 404


@pytest.mark.parametrize("name", ["nope", "..", "%00", "abcdefghijkl", UNKNOWN_UUID + "0", "a" * 3000])
def test_an_invalid_id_is_404(world: World, name: str) -> None:
    assert world.pia.delete(f"/api/v1/files/{name}").status_code == 404


def test_the_purge_date_does_not_change_with_the_plan(world: World) -> None:
    """``purgeAt`` is fixed when the file is deleted."""
    path = f"/api/v1/files/{world.pia.upload()['uuid']}"
    first = world.pia.delete(path).get_json()
    accounts.set_tier(world.rt, world.pia.email, Plan.FREE)
    assert world.pia.delete(path).get_json() == first
    world.clock.advance(days=8)
    assert sweeps.purge_due(world.rt) == 0


def test_a_trashed_file_is_purged_on_its_purge_date(world: World) -> None:
    made = world.bea.upload()
    world.bea.delete(f"/api/v1/files/{made['uuid']}")
    world.clock.advance(days=7, milliseconds=-1)
    assert sweeps.purge_due(world.rt) == 0
    world.clock.advance(milliseconds=1)
    assert sweeps.purge_due(world.rt) == 1
    assert sweeps.purge_due(world.rt) == 0
    assert list_blobs(world) == []
    assert world.bea.delete(f"/api/v1/files/{made['uuid']}").status_code == 404


def test_a_trashed_file_keeps_its_short_id_and_slug_and_its_links_are_404(world: World) -> None:
    """Neither the short id nor the slug can be used by another file."""
    made = world.pia.upload()
    update_file_row(world, made["uuid"], slug="my-report")
    world.pia.delete(f"/api/v1/files/{made['uuid']}")
    row = world.rt.db.fetch_one("SELECT short_id, slug FROM files WHERE uuid = ?", (made["uuid"],))
    assert row == (made["shortId"], "my-report")
    for path in (f"/{made['shortId']}", f"/{made['uuid']}", "/my-report"):
        assert world.http.get(path).status_code == 404
    assert world.http.get(f"/api/files/{made['shortId']}/qr-code").status_code == 404


def test_a_purge_frees_the_slug(world: World) -> None:
    """Another file can use the slug afterwards."""
    first, second = world.pia.upload(), world.pia.upload()
    update_file_row(world, first["uuid"], slug="my-report")
    world.pia.delete(f"/api/v1/files/{first['uuid']}?purge=1")
    update_file_row(world, second["uuid"], slug="my-report")


def test_a_purge_deletes_bytes_rows_and_rendered_pages(world: World) -> None:
    """Data of other files is not affected."""
    made, other = world.pia.upload(), world.pia.upload()
    for row in (made, other):
        insert_view(world, row["uuid"])
        insert_download(world, row["uuid"])
        insert_gate_response(world, row["uuid"], {"mail": "a@b.example"})
    image = f"/{made['shortId']}/pages/1-800.jpg?v=1"
    assert world.http.get(image, buffered=True).status_code == 200
    assert list((world.rt.config.data_dir / "cache").rglob("*.jpg*"))
    world.pia.delete(f"/api/v1/files/{made['uuid']}?purge=1")
    assert len(list_blobs(world)) == 1
    assert not list((world.rt.config.data_dir / "cache").rglob("*.jpg*"))
    for table in ("files", "revisions", "view_rows", "download_rows", "gate_rows"):
        assert count_rows(world, table) == 1


def test_the_text_of_a_page_that_is_read_after_a_purge_is_deleted_by_a_job(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backup keeps the bytes for a while, and a request may have found the file before it was purged."""
    made, other = world.pia.upload(), world.pia.upload()
    read_text = PageStore.text

    def purge_and_read(*args: Any) -> StoredBytes:
        assert world.pia.delete(f"/api/v1/files/{made['uuid']}?purge=1").status_code == 200
        return read_text(*args)

    assert world.http.get(f"/{other['shortId']}/text/1.json?v=1", buffered=True).status_code == 200
    with monkeypatch.context() as patch:
        patch.setattr(removals, "is_locked", lambda path: True)
        patch.setattr(PageStore, "text", purge_and_read)
        world.http.get(f"/{made['shortId']}/text/1.json?v=1", buffered=True)
    assert set(world.rt.pages.files.list_documents()) == {made["uuid"], other["uuid"]}
    assert sweeps.delete_derived_of_destroyed(world.rt) == 1
    assert world.rt.pages.files.list_documents() == [other["uuid"]]


@pytest.mark.parametrize("kind", ["pages/1-800.jpg", "text/1.json"])
def test_a_page_requested_during_a_purge_does_not_block_other_files_with_the_same_bytes(
    world: World, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A failed page is remembered for the bytes of its document, but here only the stored copy of one file is gone."""
    made, other = world.mal.upload(simple_pdf(pages=2)), world.pia.upload(simple_pdf(pages=2))
    open_blob = sealed_blobs.open_blob

    def open_and_purge(*args: Any) -> StoredBytes:
        opened = open_blob(*args)
        world.mal.delete(f"/api/v1/files/{made['uuid']}?purge=1")
        return opened

    with monkeypatch.context() as patch:
        patch.setattr(sealed_blobs, "open_blob", open_and_purge)
        assert world.http.get(f"/{made['shortId']}/{kind}?v=1", buffered=True).status_code == 404
    assert world.http.get(f"/{other['shortId']}/{kind}?v=1", buffered=True).status_code == 200


def test_a_file_with_many_views_is_hidden_and_purged_completely(world: World) -> None:
    """Rows are deleted in batches of 5,000, each in a short transaction."""
    made = world.pia.upload()
    with world.rt.db.write():
        world.rt.db.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000) "
            "INSERT INTO view_rows (owner_id, file_id, pages_viewed, time_ms) "
            "SELECT owner_id, id, 1, 1 FROM files, n WHERE uuid = ?",
            (made["uuid"],),
        )
    world.pia.delete(f"/api/v1/files/{made['uuid']}")
    assert world.rt.db.fetch_one("SELECT COUNT(*) FROM view_rows WHERE hidden = 0") == (0,)
    world.pia.delete(f"/api/v1/files/{made['uuid']}?purge=1")
    assert count_rows(world, "view_rows") == 0


def test_a_restart_completes_a_deletion_that_a_crash_interrupted(world: World) -> None:
    made, due = world.pia.upload(), world.pia.upload()
    insert_view(world, made["uuid"])
    update_file_row(world, made["uuid"], trashed_at=world.clock.now, purge_at=world.clock.now + DAY)
    update_file_row(world, due["uuid"], trashed_at=world.clock.now, purge_at=world.clock.now)
    (world.rt.blobs.tmp / "left.part").write_bytes(b"half an upload")
    orphan = world.rt.blobs.create_partial()
    orphan.write(b"bytes without a row")
    world.rt.blobs.store(orphan)
    swept = sweeps.clean_at_start(world.rt)
    assert (swept.partials, swept.orphans) == (1, 1)
    assert world.rt.db.fetch_one("SELECT COUNT(*) FROM view_rows WHERE hidden = 0") == (0,)
    assert count_rows(world, "files") == 1
    assert len(list_blobs(world)) == 1
    again = sweeps.clean_at_start(world.rt)
    assert (again.partials, again.orphans) == (0, 0)


def test_the_sweep_returns_counts_of_its_actions(world: World) -> None:
    world.bea.delete(f"/api/v1/files/{world.bea.upload()['uuid']}")
    assert sweeps.run_all(world.rt) == {"burned": 0, "purged": 0, "expired": 0, "removed": 0}
    world.clock.advance(days=7)
    assert sweeps.run_all(world.rt) == {"burned": 0, "purged": 1, "expired": 0, "removed": 0}
