"""Replacing the content of a file."""

import io
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace as with_
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import TestResponse

from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.server.received_file import ReceivedFile
from docshare.server.services.accounts.callers import Caller, authenticate
from docshare.server.services.files import intake
from docshare.server.services.files import replace as replacing
from tests.api.route_table import UNKNOWN_UUID
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.rows import count_rows, insert_view, update_file_row
from tests.support.people.anonymous_files import share_anonymously
from tests.support.people.cast import Person, World

OLD, NEW = simple_pdf(pages=3), simple_pdf(pages=5)
DAY = 86_400_000


def replace_content(
    who: Person, name: str, content: bytes = NEW, *, query: str = "", filename: str = "second.pdf"
) -> TestResponse:
    data = {"file": (io.BytesIO(content), filename)}
    return who.post(f"/api/v1/files/{name}/content{query}", data=data)


def get_detail(world: World, name: str) -> dict[str, Any]:
    found: dict[str, Any] = world.pia.get(f"/api/v1/files/{name}").get_json()
    return found


def download_content(world: World, name: str) -> bytes:
    return world.pia.get(f"/api/v1/files/{name}/content", buffered=True).data


def list_blobs(world: World) -> list[Path]:
    return [path for root in (world.rt.blobs.root, world.rt.blobs.tmp) for path in root.rglob("*") if path.is_file()]


def insert_anchors(world: World, uuid: str) -> None:
    """Insert two hotspots, a note on a page and a note on the whole document."""
    with world.rt.db.write():
        for table, columns, rows in (
            ("hotspots", "page, rect, label", [(1, "{}", "a"), (2, "{}", "b")]),
            ("notes", "page, author, body, public", [(1, "Ann", "typo", 1), (None, "Ann", "thanks", 0)]),
        ):
            for number, row in enumerate(rows):
                marks = ", ".join("?" for _ in row)
                world.rt.db.execute(
                    f"INSERT INTO {table} (uuid, created_at, file_id, {columns}) "
                    f"SELECT ?, 0, id, {marks} FROM files WHERE uuid = ?",
                    (f"{table}-{number}", *row, uuid),
                )


def list_activity(world: World) -> list[tuple[str, dict[str, Any]]]:
    return [(event, json.loads(data)) for event, data in world.rt.db.fetch_all("SELECT event, data FROM activity_rows")]


@pytest.mark.parametrize("key", ["uuid", "shortId"])
def test_a_replacement_keeps_the_link_and_changes_the_document(world: World, key: str) -> None:
    """``contentVersion`` starts at 1, and each replacement increments it."""
    made = world.pia.upload(OLD)
    world.clock.advance(hours=1)
    answer = replace_content(world.pia, made[key])
    assert answer.status_code == 200
    result = answer.get_json()
    message = result.pop("message")
    assert message
    assert result == {
        "uuid": made["uuid"],
        "contentVersion": 2,
        "originalName": "second.pdf",
        "size": len(NEW),
        "anchorsCleared": True,
        "clearedHotspots": 0,
        "clearedNotes": 0,
        "clearedMarks": 0,
        "clearedAnnotations": 0,
    }
    after = get_detail(world, made["uuid"])
    assert (after["shortId"], after["shareUrl"]) == (made["shortId"], made["shareUrl"])
    assert (after["contentVersion"], after["totalPages"], after["originalName"]) == (2, 5, "second.pdf")
    assert after["updatedAt"] > after["createdAt"]
    assert download_content(world, made["uuid"]) == NEW
    assert len(list_blobs(world)) == 1


def test_revisions_are_listed_newest_first(world: World) -> None:
    made = world.pia.upload(OLD)
    world.clock.advance(hours=1)
    replace_content(world.pia, made["uuid"])
    after = get_detail(world, made["uuid"])
    assert [
        (row["contentVersion"], row["originalName"], row["size"], row["totalPages"], row["createdAt"])
        for row in after["revisions"]
    ] == [
        (2, "second.pdf", len(NEW), 5, "2026-09-21T15:13:20.000Z"),
        (1, "report.pdf", len(OLD), 3, "2026-09-21T14:13:20.000Z"),
    ]
    assert after["revisions"][0]["sha256"] == after["sha256"]


def test_a_replacement_keeps_settings_and_readership(world: World) -> None:
    made = world.pia.upload(OLD)
    update_file_row(world, made["uuid"], slug="q3", password_hash="x", view_count=7, settings='{"allowDownload":false}')
    insert_view(world, made["uuid"])
    replace_content(world.pia, made["uuid"])
    after = get_detail(world, made["uuid"])
    assert (after["slug"], after["protected"], after["viewCount"], after["allowDownload"]) == ("q3", True, 7, False)
    assert [row["fileName"] for row in world.pia.get("/api/v1/events").get_json()] == ["second.pdf"]


def test_content_replaced_is_recorded_once(world: World) -> None:
    made = world.pia.upload(OLD)
    replace_content(world.pia, made["uuid"])
    expected = {"fileUuid": made["uuid"], "fileName": "second.pdf", "contentVersion": 2}
    assert list_activity(world) == [("content.replaced", expected)]


@pytest.mark.parametrize("query", ["", "?clearAnchors=true", "?clearAnchors=False", "?clearAnchors=no",
                                   "?clearAnchors=", "?clearAnchors=00", "?clearAnchors=0%20", "?clearanchors=false",
                                   "?clearAnchors=false&clearAnchors=true"])  # fmt: skip
def test_anchors_are_cleared_by_default(world: World, query: str) -> None:
    """Only the exact values ``false`` and ``0`` keep the anchors."""
    made = world.pia.upload(OLD)
    insert_anchors(world, made["uuid"])
    result = replace_content(world.pia, made["uuid"], query=query).get_json()
    assert (result["anchorsCleared"], result["clearedHotspots"], result["clearedNotes"]) == (True, 2, 1)
    assert world.rt.db.fetch_all("SELECT body FROM notes") == [("thanks",)]
    assert count_rows(world, "hotspots") == 0


@pytest.mark.parametrize("value", ["false", "0"])
def test_clear_anchors_false_or_0_keeps_the_anchors(world: World, value: str) -> None:
    """The response reports that nothing was cleared."""
    made = world.pia.upload(OLD)
    insert_anchors(world, made["uuid"])
    result = replace_content(world.pia, made["uuid"], query=f"?clearAnchors={value}").get_json()
    assert (result["anchorsCleared"], result["clearedHotspots"], result["clearedNotes"]) == (False, 0, 0)
    assert (count_rows(world, "hotspots"), count_rows(world, "notes")) == (2, 2)


def test_only_the_anchors_of_this_file_are_cleared(world: World) -> None:
    made, other = world.pia.upload(OLD), world.pia.upload(OLD)
    insert_anchors(world, other["uuid"])
    replace_content(world.pia, made["uuid"])
    assert (count_rows(world, "hotspots"), count_rows(world, "notes")) == (2, 2)


# Access


def test_an_unknown_file_is_404(world: World) -> None:
    assert replace_content(world.pia, UNKNOWN_UUID).status_code == 404
    assert replace_content(world.pia, "q3-report").status_code == 404


@pytest.mark.parametrize("person", ["fay", "mal"])
def test_a_file_of_another_account_is_403_and_not_404(world: World, person: str) -> None:
    """The owner is checked before the plan."""
    made = world.pia.upload(OLD)
    answer = replace_content(getattr(world, person), made["uuid"])
    assert (answer.status_code, answer.get_json()["code"]) == (403, "forbidden")
    assert download_content(world, made["uuid"]) == OLD


@pytest.mark.parametrize("person", ["fay", "bea"])
def test_a_replacement_below_pro_is_403_plan_required(world: World, person: str) -> None:
    """Replacing content requires the Pro plan."""
    owner = getattr(world, person)
    made = owner.upload(OLD)
    answer = replace_content(owner, made["uuid"])
    assert (answer.status_code, answer.get_json()["code"]) == (403, "plan_required")
    assert "requires the pro plan" in answer.get_json()["detail"]


def test_trashed_and_unclaimed_files_are_404(world: World) -> None:
    made = world.pia.upload(OLD)
    world.pia.delete(f"/api/v1/files/{made['uuid']}")
    assert replace_content(world.pia, made["uuid"]).status_code == 404
    assert replace_content(world.mal, made["uuid"]).status_code == 404
    assert replace_content(world.pia, share_anonymously(world).uuid).status_code == 404


# Expired and burned links


def test_an_expired_link_is_410_and_unchanged(world: World) -> None:
    """A burned link can be replaced, an expired one cannot."""
    made = world.pia.upload(OLD)
    update_file_row(world, made["uuid"], delete_at=world.clock.now)
    answer = replace_content(world.pia, made["uuid"])
    assert (answer.status_code, answer.get_json()["code"]) == (410, "gone")
    assert download_content(world, made["uuid"]) == OLD
    assert len(list_blobs(world)) == 1


def test_a_replacement_reopens_a_burned_link_and_resets_its_views(world: World) -> None:
    """The view limit does not change."""
    made = world.pia.upload(OLD)
    update_file_row(world, made["uuid"], view_limit=3, views_consumed=3, burned_at=world.clock.now)
    assert world.http.get(f"/{made['shortId']}").status_code == 410
    assert replace_content(world.pia, made["uuid"]).get_json()["contentVersion"] == 2
    after = get_detail(world, made["uuid"])
    assert "burnedAt" not in after
    assert (after["viewLimit"], after["viewsConsumed"]) == (3, 0)
    assert download_content(world, made["uuid"]) == NEW


def test_a_replacement_keeps_the_consumed_views_of_a_live_link(world: World) -> None:
    made = world.pia.upload(OLD)
    update_file_row(world, made["uuid"], view_limit=3, views_consumed=2)
    replace_content(world.pia, made["uuid"])
    assert get_detail(world, made["uuid"])["viewsConsumed"] == 2


def test_a_link_that_is_both_expired_and_burned_is_410(world: World) -> None:
    """The expiry takes precedence."""
    made = world.pia.upload(OLD)
    update_file_row(world, made["uuid"], delete_at=world.clock.now - 1, burned_at=world.clock.now - 2)
    assert replace_content(world.pia, made["uuid"]).status_code == 410


# Content


@pytest.mark.parametrize(("content", "status"), [(b"not a document", 400), (b"%PDF-1.7\nbroken", 422)])
def test_content_that_is_not_a_document_changes_nothing(world: World, content: bytes, status: int) -> None:
    made = world.pia.upload(OLD)
    before = get_detail(world, made["uuid"])
    assert replace_content(world.pia, made["uuid"], content).status_code == status
    assert get_detail(world, made["uuid"]) == before
    assert len(list_blobs(world)) == 1


def test_a_form_without_a_file_is_400_and_a_body_that_is_not_a_form_is_415(world: World) -> None:
    path = f"/api/v1/files/{world.pia.upload(OLD)['uuid']}/content"
    assert world.pia.post(path).status_code == 400
    assert world.pia.post(path, data={"note": "x"}, content_type="multipart/form-data").status_code == 400
    assert world.pia.post(path, data=OLD, content_type="application/pdf").status_code == 415


def test_the_caller_is_checked_before_the_form(world: World) -> None:
    path = f"/api/v1/files/{world.pia.upload(OLD)['uuid']}/content"
    assert world.mal.post(path).status_code == 403
    assert world.mal.post(path, data=OLD, content_type="application/pdf").status_code == 403


def test_a_full_disk_is_503_and_changes_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    made = world.pia.upload(OLD)
    monkeypatch.setattr(type(world.rt.blobs), "free_bytes", lambda self: 0)
    answer = replace_content(world.pia, made["uuid"])
    assert answer.status_code == 503
    assert answer.headers["Retry-After"]
    assert download_content(world, made["uuid"]) == OLD


def test_a_document_over_100_mb_is_413_if_the_link_has_a_page_range(world: World) -> None:
    made = world.pia.upload(OLD)
    update_file_row(world, made["uuid"], settings='{"pageRange":{"from":1,"to":2}}')
    big = NEW + b"\n" * (100 * 1024 * 1024 + 1 - len(NEW))
    person = authenticate_person(world, world.pia)
    with pytest.raises(Problem) as refused:
        replacing.replace_document(world.rt, person, made["uuid"], make_received_file(world, big))
    assert refused.value.code == "payload_too_large"
    assert download_content(world, made["uuid"]) == OLD
    assert len(list_blobs(world)) == 1


# Concurrent changes


def hold_inspections(world: World, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    """Run inspections one by one, because the engine may reject those that wait behind a slow one, and let none end
    before ``width`` are complete."""
    barrier, turn = threading.Barrier(width), threading.Lock()
    inspect = world.rt.engine.inspect

    def inspect_and_wait(*arguments: Any) -> Any:
        with turn:
            found = inspect(*arguments)
        barrier.wait(60)
        return found

    monkeypatch.setattr(world.rt.engine, "inspect", inspect_and_wait)


def run_concurrently(work: Callable[[], int], times: int) -> list[int]:
    """Run ``work`` in ``times`` threads and return their results, sorted."""
    with ThreadPoolExecutor(times) as pool:
        return sorted(job.result() for job in [pool.submit(work) for _ in range(times)])


def test_one_of_several_concurrent_replacements_wins_and_the_others_are_409(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two replacements never get the same ``contentVersion``."""
    made = world.pia.upload(OLD)
    hold_inspections(world, monkeypatch, 4)

    def race() -> int:
        mine = Person("", "", world.pia.key, world.app.test_client())
        return replace_content(mine, made["uuid"]).status_code

    assert run_concurrently(race, 4) == [200, 409, 409, 409]
    monkeypatch.undo()
    assert get_detail(world, made["uuid"])["contentVersion"] == 2
    assert download_content(world, made["uuid"]) == NEW
    assert len(list_blobs(world)) == 1


@pytest.fixture
def during_inspection(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Return a function that schedules an action to run while a replacement is inspected."""

    def schedule(work: Callable[[], object]) -> None:
        inspect = world.rt.engine.inspect

        def inspect_and_work(*arguments: Any) -> Any:
            found = inspect(*arguments)
            monkeypatch.undo()
            work()
            return found

        monkeypatch.setattr(world.rt.engine, "inspect", inspect_and_work)

    return schedule


def test_a_replacement_during_another_replacement_is_409(world: World, during_inspection: Callable[..., None]) -> None:
    """The content of the other replacement is kept."""
    made = world.pia.upload(OLD)
    third = simple_pdf(pages=7)
    during_inspection(lambda: replace_content(world.pia, made["uuid"], third))
    answer = replace_content(world.pia, made["uuid"])
    assert (answer.status_code, answer.get_json()["code"]) == (409, "conflict")
    assert download_content(world, made["uuid"]) == third
    assert [row["contentVersion"] for row in get_detail(world, made["uuid"])["revisions"]] == [2, 1]
    assert len(list_blobs(world)) == 1


def test_a_file_that_is_trashed_meanwhile_is_404(world: World, during_inspection: Callable[..., None]) -> None:
    made = world.pia.upload(OLD)
    during_inspection(lambda: world.pia.delete(f"/api/v1/files/{made['uuid']}"))
    assert replace_content(world.pia, made["uuid"]).status_code == 404
    assert len(list_blobs(world)) == 1


def test_a_file_that_expires_meanwhile_is_410(world: World, during_inspection: Callable[..., None]) -> None:
    made = world.pia.upload(OLD)
    during_inspection(lambda: update_file_row(world, made["uuid"], delete_at=world.clock.now))
    assert replace_content(world.pia, made["uuid"]).status_code == 410
    assert len(list_blobs(world)) == 1


def test_a_file_that_is_purged_meanwhile_is_404(world: World, during_inspection: Callable[..., None]) -> None:
    made = world.pia.upload(OLD)
    during_inspection(lambda: world.pia.delete(f"/api/v1/files/{made['uuid']}?purge=1"))
    assert replace_content(world.pia, made["uuid"]).status_code == 404
    assert list_blobs(world) == []


def test_a_change_of_settings_meanwhile_is_not_a_conflict(world: World, during_inspection: Callable[..., None]) -> None:
    made = world.pia.upload(OLD)
    during_inspection(lambda: update_file_row(world, made["uuid"], slug="q3"))
    assert replace_content(world.pia, made["uuid"]).status_code == 200
    assert get_detail(world, made["uuid"])["slug"] == "q3"


def test_a_replacement_does_not_count_against_the_file_limit(world: World) -> None:
    """An account at its file limit can replace content."""
    for _ in range(3):
        made = world.fay.upload(OLD)
    full = authenticate_person(world, world.fay)
    with pytest.raises(Problem, match="slots"):
        intake.admit(world.rt, full, 10)
    assert replacing.admit(world.rt, with_(full, plan=Plan.PRO), made["uuid"], 10) == 2 * 1024**3


def authenticate_person(world: World, person: Person) -> Caller:
    return authenticate(world.rt, f"Bearer {person.key}")


def make_received_file(world: World, content: bytes) -> ReceivedFile:
    part = world.rt.blobs.create_partial()
    part.write(content)
    return ReceivedFile("second.pdf", "application/pdf", part)
