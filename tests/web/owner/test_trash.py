"""The trash page: the list, restoring and deleting."""

import re
from html import unescape

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from docshare.contract.plans import Plan
from docshare.server.services.accounts import accounts
from tests.support.owner.browser import put_settings, sign_in_browser
from tests.support.owner.forms import find_csrf_token, visible_text
from tests.support.people.cast import Person, World

NAMED = re.compile(r"<h2>([^<]*\.pdf)</h2>")


def trash_file(person: Person, name: str = "report.pdf") -> str:
    """Upload and trash a file of ``person`` and return its UUID."""
    uuid = str(person.upload(name=name)["uuid"])
    assert person.delete(f"/api/v1/files/{uuid}").get_json()["trashed"] is True
    return uuid


def list_file_names(answer: TestResponse) -> list[str]:
    assert answer.status_code == 200
    return [unescape(name) for name in NAMED.findall(answer.text)]


def submit_form_at(http: FlaskClient, address: str, **more: str) -> TestResponse:
    """Send the form at ``address`` with the token; ``more`` are headers."""
    return http.post(address, data={"csrf": find_csrf_token(http.get("/login").text)}, headers=more)


def has_file(person: Person, uuid: str) -> bool:
    return person.get(f"/api/v1/files/{uuid}").status_code == 200


def count_trashed(world: World) -> int:
    return len(world.rt.db.fetch_all("SELECT 1 FROM files WHERE trashed_at IS NOT NULL"))


def test_an_empty_trash_shows_a_message(owner_browser: FlaskClient) -> None:
    assert "The trash is empty" in owner_browser.get("/trash").text


@pytest.mark.parametrize(("name", "days"), [("bea", 7), ("pia", 30)])
def test_trashed_files_are_listed_with_their_deletion_date(world: World, name: str, days: int) -> None:
    person: Person = getattr(world, name)
    world.clock.now = 1_790_000_000_000  # 21 September 2026
    trash_file(person, "first.pdf")
    world.clock.advance(hours=1)
    trash_file(person, "second.pdf")
    answer = sign_in_browser(world, person).get("/trash")
    assert list_file_names(answer) == ["second.pdf", "first.pdf"]
    until = {7: "28 Sep 2026", 30: "21 Oct 2026"}[days]
    assert f"deleted 21 Sep 2026 · purged on {until}" in visible_text(answer)
    assert f"Deleted files are kept for {days} days." in visible_text(answer)


def test_files_of_others_are_not_listed(world: World, owner_browser: FlaskClient) -> None:
    trash_file(world.mal, "foreign.pdf")
    world.pia.upload(name="active.pdf")
    trash_file(world.pia, "mine.pdf")
    assert list_file_names(owner_browser.get("/trash")) == ["mine.pdf"]


def test_a_file_whose_deletion_is_due_is_not_listed(world: World, owner_browser: FlaskClient) -> None:
    trash_file(world.pia)
    world.clock.advance(days=29.99)
    assert list_file_names(owner_browser.get("/trash")) == ["report.pdf"]
    world.clock.advance(days=0.01)
    assert list_file_names(sign_in_browser(world, world.pia).get("/trash")) == []


def test_restoring_a_file_restores_its_link_and_slug(world: World, owner_browser: FlaskClient) -> None:
    made = world.pia.upload(name="plan.pdf")
    put_settings(world, made, slug="q3-plan")
    world.pia.delete(f"/api/v1/files/{made['uuid']}")
    assert world.http.get("/q3-plan").status_code == 404
    answer = submit_form_at(owner_browser, f"/trash/{made['uuid']}/restore")
    assert answer.status_code == 303
    assert "plan.pdf was restored; its link works again." in visible_text(owner_browser.get(answer.headers["Location"]))
    assert world.http.get("/q3-plan").status_code == 200
    assert list_file_names(owner_browser.get("/trash")) == []


def test_restoring_without_a_free_file_slot_is_rejected_with_a_reason(world: World) -> None:
    uuid = trash_file(world.bea)
    accounts.set_tier(world.rt, world.bea.email, Plan.FREE)
    for _ in range(3):
        world.bea.upload()
    http = sign_in_browser(world, world.bea)
    assert "the trash stays empty" in http.get("/trash").text
    answer = submit_form_at(http, f"/trash/{uuid}/restore")
    assert answer.status_code == 403
    assert "file slots of the account are in use" in answer.text
    assert "report.pdf" in answer.text
    assert not has_file(world.bea, uuid)


def test_permanent_deletion_requires_confirmation(world: World, owner_browser: FlaskClient) -> None:
    uuid = trash_file(world.pia)
    page = owner_browser.get(f"/trash/{uuid}/delete")
    assert "This cannot be undone." in page.text
    assert f'action="/trash/{uuid}/delete"' in page.text
    assert count_trashed(world) == 1
    answer = submit_form_at(owner_browser, f"/trash/{uuid}/delete")
    assert (answer.status_code, answer.headers["Location"].partition("?")[0]) == (303, "/trash")
    assert world.rt.db.fetch_all("SELECT 1 FROM files") == []


@pytest.mark.parametrize("way", ["restore", "delete"])
def test_only_ones_own_trashed_files_can_be_restored_or_deleted(
    world: World, owner_browser: FlaskClient, way: str
) -> None:
    foreign, active = trash_file(world.mal), world.pia.upload()["uuid"]
    for name in (foreign, active, "nonsense", "%00", "00000000-0000-4000-8000-000000000000"):
        assert submit_form_at(owner_browser, f"/trash/{name}/{way}").status_code == 404
    assert owner_browser.get(f"/trash/{foreign}/delete").status_code == 404
    assert owner_browser.get(f"/trash/{active}/delete").status_code == 404
    assert has_file(world.pia, active)
    assert count_trashed(world) == 1


@pytest.mark.parametrize("way", ["restore", "delete"])
@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
    ],
)
def test_a_cross_site_form_changes_nothing(
    world: World, owner_browser: FlaskClient, way: str, headers: dict[str, str]
) -> None:
    uuid = trash_file(world.pia)
    assert submit_form_at(owner_browser, f"/trash/{uuid}/{way}", **headers).status_code == 403
    assert count_trashed(world) == 1


@pytest.mark.parametrize("way", ["restore", "delete"])
def test_a_form_without_the_csrf_token_changes_nothing(world: World, owner_browser: FlaskClient, way: str) -> None:
    uuid = trash_file(world.pia)
    for data in ({}, {"csrf": ""}, {"csrf": "nonsense"}):
        assert owner_browser.post(f"/trash/{uuid}/{way}", data=data).status_code == 403
    assert count_trashed(world) == 1


def test_a_signed_out_user_sees_and_changes_nothing(world: World) -> None:
    uuid = trash_file(world.pia, "secret.pdf")
    for address in ("/trash", f"/trash/{uuid}/delete"):
        answer = world.http.get(address)
        assert answer.status_code == 403
        assert "secret.pdf" not in answer.text
    for way in ("restore", "delete"):
        assert world.http.post(f"/trash/{uuid}/{way}").status_code == 403
    assert count_trashed(world) == 1


def test_a_long_trash_is_listed_in_pages_of_fifty(world: World, owner_browser: FlaskClient) -> None:
    uuid = trash_file(world.pia)
    with world.rt.db.write():
        for number in range(60):
            world.rt.db.execute(
                "INSERT INTO files (uuid, short_id, owner_id, original_name, size, mime_type, total_pages, page_sizes,"
                " sha256, blob, content_version, created_at, updated_at, trashed_at, purge_at) SELECT ?, ?, owner_id,"
                " original_name, size, mime_type, total_pages, page_sizes, sha256, ?, content_version, created_at,"
                " updated_at, trashed_at, purge_at FROM files WHERE uuid = ?",
                (world.rt.random_uuid(), world.rt.random_token(12), f"none{number}", uuid),
            )
    assert len(list_file_names(owner_browser.get("/trash"))) == 50
    assert len(list_file_names(owner_browser.get("/trash?page=2"))) == 11
    assert len(list_file_names(owner_browser.get("/trash?page=99"))) == 11
