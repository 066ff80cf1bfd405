"""Replacements that a crash interrupts, and readers of the old version."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pypdfium2
import pytest

from docshare.server.services.events import activity
from docshare.server.services.operations import sweeps
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.database import ON_POSTGRESQL
from tests.support.engines.rows import count_rows
from tests.support.owner.browser import put_settings
from tests.support.people.cast import World, stop_background_rendering
from tests.support.people.reader import FakeReader, list_sessions

OLD, NEW = simple_pdf(pages=3), simple_pdf(pages=5)


class ReplaceCrash(BaseException):
    """Simulate the end of the process; no handler of the application catches this."""


def raise_crash(*_: Any, **__: Any) -> Any:
    raise ReplaceCrash


def get_replace_status(world: World, name: str, content: bytes = NEW) -> int:
    data = {"file": (io.BytesIO(content), "second.pdf")}
    return world.pia.post(f"/api/v1/files/{name}/content", data=data).status_code


def list_blobs(world: World) -> list[Path]:
    return [path for root in (world.rt.blobs.root, world.rt.blobs.tmp) for path in root.rglob("*") if path.is_file()]


def list_cached_pages(world: World) -> list[str]:
    cache = world.rt.config.data_dir / "cache"
    return sorted(str(path.relative_to(cache)) for path in cache.rglob("*.jpg*"))


def download_content(world: World, name: str) -> bytes:
    return world.pia.get(f"/api/v1/files/{name}/content", buffered=True).data


def restart(world: World) -> None:
    """Clean up as the next start does. The threads of the old process, which render pages ahead, have ended then."""
    stop_background_rendering(world)
    sweeps.clean_at_start(world.rt)
    if not ON_POSTGRESQL:  # which checks foreign keys in each statement
        assert world.rt.db.fetch_all("PRAGMA foreign_key_check") == []


InjectCrash = Callable[[World, pytest.MonkeyPatch], None]


def crash_before_row(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Crash after the bytes are stored and before the row is written; bytes are not deleted either."""
    monkeypatch.setattr(type(world.rt.blobs), "delete", raise_crash)
    monkeypatch.setattr(type(world.rt.db), "write", raise_crash)


def crash_in_transaction(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Crash after the row is written and before the commit."""
    monkeypatch.setattr(type(world.rt.blobs), "delete", raise_crash)
    monkeypatch.setattr(activity, "record", raise_crash)


@pytest.mark.parametrize("inject_crash", [crash_before_row, crash_in_transaction])
def test_a_crash_before_the_commit_leaves_the_old_document(
    world: World, monkeypatch: pytest.MonkeyPatch, inject_crash: InjectCrash
) -> None:
    """The new bytes are orphaned, and the next start deletes them."""
    made = world.pia.upload(OLD)
    with monkeypatch.context() as patched:
        inject_crash(world, patched)
        with pytest.raises(ReplaceCrash):
            get_replace_status(world, made["uuid"])
    assert len(list_blobs(world)) == 2
    restart(world)
    assert len(list_blobs(world)) == 1
    assert download_content(world, made["uuid"]) == OLD
    assert world.pia.get(f"/api/v1/files/{made['uuid']}").get_json()["contentVersion"] == 1
    assert (count_rows(world, "revisions"), count_rows(world, "activity_rows")) == (1, 0)


def test_a_crash_after_the_commit_leaves_the_new_document(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next start deletes the old bytes and pages."""
    made = world.pia.upload(OLD)
    assert world.http.get(f"/{made['shortId']}/pages/1-800.jpg?v=1", buffered=True).status_code == 200
    with monkeypatch.context() as patched:
        patched.setattr(type(world.rt.blobs), "delete", raise_crash)
        with pytest.raises(ReplaceCrash):
            get_replace_status(world, made["uuid"])
    assert len(list_blobs(world)) == 2
    assert download_content(world, made["uuid"]) == NEW
    restart(world)
    assert len(list_blobs(world)) == 1
    assert list_cached_pages(world) == []
    assert download_content(world, made["uuid"]) == NEW
    assert (count_rows(world, "revisions"), count_rows(world, "activity_rows")) == (2, 1)


def test_a_replacement_succeeds_even_if_the_old_bytes_cannot_be_deleted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = world.pia.upload(OLD)

    def fail(*_: Any) -> None:
        raise OSError("the disk is read-only now")

    with monkeypatch.context() as patched:
        patched.setattr(type(world.rt.blobs), "delete", fail)
        assert get_replace_status(world, made["uuid"]) == 200
    assert download_content(world, made["uuid"]) == NEW


def test_pages_of_the_old_version_are_deleted_and_those_of_the_new_are_kept(world: World) -> None:
    made = world.pia.upload(OLD)
    image = f"/{made['shortId']}/pages/1-800.jpg?v="
    first = world.http.get(image + "1", buffered=True).data
    assert get_replace_status(world, made["uuid"]) == 200
    assert list_cached_pages(world) == []
    assert world.http.get(image + "1").status_code == 404
    assert world.http.get(image + "2", buffered=True).status_code == 200
    restart(world)
    assert f"{made['uuid']}/2/1-800.jpg.sealed" in list_cached_pages(world)
    assert first.startswith(b"\xff\xd8")


def replace_after_lookup(world: World, monkeypatch: pytest.MonkeyPatch, uuid: str) -> None:
    """Replace the document after its bytes are looked up and before they are opened."""
    path = type(world.rt.blobs).path

    def look_up_and_replace(self: Any, key: str) -> Path:
        monkeypatch.undo()
        found = path(self, key)
        assert get_replace_status(world, uuid) == 200
        return found

    monkeypatch.setattr(type(world.rt.blobs), "path", look_up_and_replace)


@pytest.mark.parametrize("what", ["pages/2-800.jpg", "text/2.json"])
def test_a_page_that_is_replaced_while_it_is_rendered_is_not_a_server_error(
    world: World, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """A reader of the old version gets 404 or 422."""
    made = world.pia.upload(OLD)
    replace_after_lookup(world, monkeypatch, made["uuid"])
    answer = world.http.get(f"/{made['shortId']}/{what}?v=1", buffered=True)
    assert answer.status_code in (404, 422)


def test_a_download_during_a_replacement_returns_the_new_document(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = world.pia.upload(OLD)
    replace_after_lookup(world, monkeypatch, made["uuid"])
    answer = world.pia.get(f"/api/v1/files/{made['uuid']}/content", buffered=True)
    assert (answer.status_code, answer.data) == (200, NEW)


@pytest.mark.parametrize(("settings", "pages"), [({}, 5), ({"pageRange": {"from": 1, "to": 2}}, 2)])
def test_a_reader_who_downloads_during_a_replacement_gets_the_new_document(
    world: World, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], pages: int
) -> None:
    made = world.pia.upload(OLD)
    put_settings(world, made, allowDownload=True, **settings)
    replace_after_lookup(world, monkeypatch, made["uuid"])
    answer = world.http.post(f"/{made['shortId']}/download", buffered=True)
    assert answer.status_code == 200
    with pypdfium2.PdfDocument(answer.data) as pdf:
        assert len(pdf) == pages


def test_a_download_of_a_document_deleted_meanwhile_is_404(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    made = world.pia.upload(OLD)
    put_settings(world, made, allowDownload=True)
    path = type(world.rt.blobs).path

    def look_up_and_delete(self: Any, key: str) -> Path:
        monkeypatch.undo()
        found = path(self, key)
        assert world.pia.delete(f"/api/v1/files/{made['uuid']}?purge=1").status_code == 200
        return found

    monkeypatch.setattr(type(world.rt.blobs), "path", look_up_and_delete)
    assert world.http.post(f"/{made['shortId']}/download", buffered=True).status_code == 404


def test_a_session_of_the_old_version_is_still_counted(world: World) -> None:
    made = world.pia.upload(OLD)
    reader = FakeReader(world, made["shortId"])
    assert reader.read_page(4) == 204
    assert get_replace_status(world, made["uuid"]) == 200
    assert reader.read_page(4, page=3) == 204
    assert list_sessions(world) == [("human", 8000)]
    assert world.rt.db.fetch_all("SELECT content_version, total_pages FROM view_sessions") == [(1, 3)]
