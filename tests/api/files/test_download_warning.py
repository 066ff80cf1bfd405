"""A setting that affects the download is tried at once, and the owner gets a warning if the copy cannot be created."""

import itertools
import threading
import time
from typing import Any

import pytest

from docshare.contract.problems import Problem
from docshare.server.pdf.budget import Tenant
from docshare.server.pdf.engine import Derivation, UnrenderableError
from docshare.server.pdf.schedule import JobLane
from docshare.server.services.files.sealed_blobs import open_blob
from tests.support.documents import inherited_resources
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.rows import update_file_row
from tests.support.owner.browser import put_settings
from tests.support.people.cast import World

pytestmark = pytest.mark.usefixtures("patient_trials")
STATELESS_CHECKBOX_PDF = inherited_resources.checkbox_without_state_pdf()  # a copy of page 2 looks different
HERE = {"REMOTE_ADDR": "203.0.113.7"}
SECOND = {"from": 2, "to": 2}
OWNER = Tenant("account 1", "0" * 64)


@pytest.fixture
def checkbox_file(world: World) -> dict[str, Any]:
    return world.pia.upload(STATELESS_CHECKBOX_PDF, "Odd.pdf")


def get_download_warning(world: World, made: dict[str, Any]) -> str | None:
    """Return the warning of the file, which is the same in the detail and in the list."""
    alone = world.pia.get(f"/api/v1/files/{made['uuid']}").get_json()
    listed = next(each for each in world.pia.get("/api/v1/files").get_json() if each["uuid"] == made["uuid"])
    assert alone.get("downloadWarning") == listed.get("downloadWarning")
    found: str | None = alone.get("downloadWarning")
    return found


def create_variant(world: World, made: dict[str, Any], **overrides: Any) -> dict[str, Any]:
    answer = world.pia.post(f"/api/v1/files/{made['uuid']}/variants", json={"overrides": overrides})
    assert answer.status_code == 201
    found: dict[str, Any] = answer.get_json()
    return found


def get_download_status(world: World, name: str) -> int:
    return world.http.post(f"/{name}/download", environ_overrides=HERE, buffered=True).status_code


def test_a_page_range_that_cannot_be_copied_is_a_warning(world: World, checkbox_file: dict[str, Any]) -> None:
    assert get_download_warning(world, checkbox_file) is None
    answer = world.pia.put(f"/api/v1/files/{checkbox_file['uuid']}/settings", json={"pageRange": SECOND})
    assert (answer.status_code, answer.data) == (200, b"")
    assert "would look different" in (get_download_warning(world, checkbox_file) or "")
    assert get_download_status(world, checkbox_file["shortId"]) == 422


@pytest.mark.parametrize(
    "cure", [{"pageRange": {"from": 0, "to": 0}}, {"allowDownload": False}, {"pageRange": {"from": 1, "to": 1}}]
)
def test_the_warning_disappears_when_its_cause_is_removed(
    world: World, checkbox_file: dict[str, Any], cure: dict[str, Any]
) -> None:
    put_settings(world, checkbox_file, pageRange=SECOND)
    put_settings(world, checkbox_file, **cure)
    assert get_download_warning(world, checkbox_file) is None


def test_unrelated_settings_keep_the_warning(world: World, checkbox_file: dict[str, Any]) -> None:
    put_settings(world, checkbox_file, pageRange=SECOND)
    put_settings(world, checkbox_file, viewerMode="swipe", viewerSettings={"autoplay": True})
    assert get_download_warning(world, checkbox_file) is not None


def test_a_variant_with_its_own_page_range_has_its_own_warning(world: World, checkbox_file: dict[str, Any]) -> None:
    made = create_variant(world, checkbox_file, pageRange=SECOND)
    assert "would look different" in made["downloadWarning"]
    assert get_download_warning(world, checkbox_file) is None
    listed = world.pia.get(f"/api/v1/files/{checkbox_file['uuid']}/variants").get_json()["variants"]
    assert listed == [made]
    path = f"/api/v1/files/{checkbox_file['uuid']}/variants/{made['uuid']}"
    assert (
        "downloadWarning" not in world.pia.put(path, json={"overrides": {"pageRange": {"from": 1, "to": 1}}}).get_json()
    )


def test_a_restored_variant_is_tried(world: World) -> None:
    uploaded = world.pia.upload(simple_pdf(pages=3))
    path = f"/api/v1/files/{uploaded['uuid']}/variants/{create_variant(world, uploaded, pageRange=SECOND)['uuid']}"
    world.pia.put(path, json={"revoked": True})
    world.pia.replace(uploaded["uuid"], STATELESS_CHECKBOX_PDF)
    assert "would look different" in world.pia.put(path, json={"revoked": False}).get_json()["downloadWarning"]


def test_settings_of_the_file_are_tried_for_its_variants(world: World, checkbox_file: dict[str, Any]) -> None:
    """The variant inherits the page range and allows downloads, which the file does not."""
    made = create_variant(world, checkbox_file, allowDownload=True)
    put_settings(world, checkbox_file, pageRange=SECOND, allowDownload=False)
    assert get_download_warning(world, checkbox_file) is None
    listed = world.pia.get(f"/api/v1/files/{checkbox_file['uuid']}/variants").get_json()["variants"]
    assert [row["uuid"] for row in listed if "downloadWarning" in row] == [made["uuid"]]


def test_each_of_many_variants_has_the_warning_of_its_copy(world: World, checkbox_file: dict[str, Any]) -> None:
    """All of them share one copy."""
    made = [create_variant(world, checkbox_file, pageRange=SECOND) for _ in range(25)]

    def count_warnings() -> int:
        listed = world.pia.get(f"/api/v1/files/{checkbox_file['uuid']}/variants").get_json()["variants"]
        return sum("downloadWarning" in row for row in listed)

    assert count_warnings() == len(made)
    world.pia.replace(checkbox_file["uuid"], simple_pdf(pages=3))
    assert count_warnings() == 0
    world.pia.replace(checkbox_file["uuid"], STATELESS_CHECKBOX_PDF)
    assert count_warnings() == len(made)


@pytest.mark.parametrize("has_variant", [False, True])
def test_a_change_of_another_setting_during_the_trial_keeps_its_result(
    world: World, checkbox_file: dict[str, Any], monkeypatch: pytest.MonkeyPatch, has_variant: bool
) -> None:
    made = create_variant(world, checkbox_file) if has_variant else checkbox_file
    variant = f"/api/v1/files/{checkbox_file['uuid']}/variants/{made['uuid']}"
    try_document = world.rt.pages.try_document

    def try_while_the_owner_changes(*arguments: Any, **options: Any) -> Any:
        monkeypatch.setattr(world.rt.pages, "try_document", try_document)
        put_settings(world, checkbox_file, viewerMode="swipe")
        return try_document(*arguments, **options)

    monkeypatch.setattr(world.rt.pages, "try_document", try_while_the_owner_changes)
    if has_variant:
        changed = world.pia.put(variant, json={"overrides": {"pageRange": SECOND}}).get_json()
        assert "would look different" in changed["downloadWarning"]
    else:
        put_settings(world, checkbox_file, pageRange=SECOND)
        assert "would look different" in (get_download_warning(world, checkbox_file) or "")


def test_a_change_of_the_copy_during_the_trial_discards_its_result(
    world: World, checkbox_file: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    try_document = world.rt.pages.try_document

    def try_while_the_owner_changes(*arguments: Any, **options: Any) -> Any:
        update_file_row(world, checkbox_file["uuid"], settings='{"pageRange":{"from":1,"to":1}}')
        return try_document(*arguments, **options)

    monkeypatch.setattr(world.rt.pages, "try_document", try_while_the_owner_changes)
    put_settings(world, checkbox_file, pageRange=SECOND)
    assert get_download_warning(world, checkbox_file) is None


def test_replaced_content_is_tried(world: World, checkbox_file: dict[str, Any]) -> None:
    put_settings(world, checkbox_file, pageRange=SECOND)
    world.pia.replace(checkbox_file["uuid"], simple_pdf(pages=3))
    assert get_download_warning(world, checkbox_file) is None
    world.pia.replace(checkbox_file["uuid"], STATELESS_CHECKBOX_PDF)
    assert get_download_warning(world, checkbox_file) is not None


def test_a_failed_download_by_a_reader_is_a_warning(world: World, checkbox_file: dict[str, Any]) -> None:
    """The settings are written to the database without a trial, as if the server had stopped before it."""
    update_file_row(world, checkbox_file["uuid"], settings='{"pageRange":{"from":2,"to":2}}')
    assert get_download_warning(world, checkbox_file) is None
    assert get_download_status(world, checkbox_file["shortId"]) == 422
    assert get_download_warning(world, checkbox_file) is not None


def test_readers_get_the_copy_that_was_tried(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    made = world.pia.upload(simple_pdf(pages=3), "Plan.pdf")
    put_settings(world, made, pageRange=SECOND)
    monkeypatch.setattr(world.rt.engine, "derive", lambda *_: pytest.fail("made twice"))
    assert get_download_status(world, made["shortId"]) == 200


def test_a_trial_that_times_out_does_not_block_readers(world: World) -> None:
    made = world.pia.upload(simple_pdf(pages=200), "Long.pdf")
    blob = next(iter(world.rt.db.fetch_all("SELECT blob FROM files WHERE uuid = ?", (made["uuid"],))))[0]
    wanted = Derivation(200, 2, 200)
    asked = (made["uuid"], 1, open_blob(world.rt, blob), wanted)
    with pytest.raises(UnrenderableError) as caught:
        world.rt.pages.try_document(*asked, OWNER, timeout_s=0.001)
    assert not caught.value.is_permanent
    assert world.rt.pages.document(*asked).read_bytes().startswith(b"%PDF-")


def test_readers_have_priority_over_trials(world: World, checkbox_file: dict[str, Any]) -> None:
    """Nothing is tried while all workers are busy."""
    blob = next(iter(world.rt.db.fetch_all("SELECT blob FROM files WHERE uuid = ?", (checkbox_file["uuid"],))))[0]
    path = open_blob(world.rt, blob)
    taken, go = threading.Event(), threading.Event()

    def occupy() -> None:
        with world.rt.engine.pool.hold(str(path), OWNER, JobLane.PAGES, patience_s=30):
            taken.set()
            go.wait(30)

    reader = threading.Thread(target=occupy)
    reader.start()
    assert taken.wait(30)
    assert not world.rt.pages.try_document(checkbox_file["uuid"], 1, path, Derivation(3, 1, 1), OWNER, 60)
    go.set()
    reader.join()
    assert world.rt.pages.try_document(checkbox_file["uuid"], 1, path, Derivation(3, 1, 1), OWNER, 60)


def test_a_document_that_stalled_a_worker_gets_its_warning_without_a_trial(
    world: World, checkbox_file: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    pool, trials = world.rt.engine.pool, world.rt.pages._trials
    stalled = world.pia.upload(simple_pdf(pages=4), "Slow.pdf")
    content = next(iter(world.rt.db.fetch_all("SELECT sha256 FROM files WHERE uuid = ?", (stalled["uuid"],))))[0]
    pool._schedule.budget.charge(Tenant("somebody", content), 2.0, time.monotonic(), stalled=True)
    calls = itertools.count()
    wait = trials._wait_for_spare
    monkeypatch.setattr(trials, "_wait_for_spare", lambda seconds: next(calls) < 1_000 and wait(seconds))
    put_settings(world, stalled, pageRange=SECOND)
    assert "takes long to make" in (get_download_warning(world, stalled) or "")
    put_settings(world, checkbox_file, pageRange=SECOND)
    assert "would look different" in (get_download_warning(world, checkbox_file) or "")
    assert 0 < next(calls) < 50


def test_a_trial_that_never_gets_a_worker_is_a_warning(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_unavailable(*_: object) -> bool:
        raise Problem("unavailable", "The PDF engine does not start.")

    made = world.pia.upload(simple_pdf(pages=4), "Plan.pdf")
    monkeypatch.setattr(world.rt.pages, "try_document", raise_unavailable)
    put_settings(world, made, pageRange=SECOND)
    assert "takes long to make" in (get_download_warning(world, made) or "")
