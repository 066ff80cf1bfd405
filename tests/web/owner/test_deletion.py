"""Deleting a file in the owner's library: the confirmation page and its effects."""

import re

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from docshare.contract.plans import Plan
from docshare.server.services.accounts import accounts
from tests.support.owner.browser import sign_in_browser
from tests.support.owner.forms import find_csrf_token, submit_form, visible_text
from tests.support.people.anonymous_files import share_anonymously
from tests.support.people.cast import Person, World


def post_deletion(http: FlaskClient, uuid: str, fate: str) -> TestResponse:
    return submit_form(http, f"/files/{uuid}/delete", fate=fate)


def has_file(person: Person, uuid: str) -> bool:
    return person.get(f"/api/v1/files/{uuid}").status_code == 200


def test_the_confirmation_page_shows_until_when_the_trash_keeps_the_file(
    world: World, owner_browser: FlaskClient
) -> None:
    """The trash of Pro keeps files for 30 days."""
    made = world.pia.upload(name="plan.pdf")
    page = owner_browser.get(f"/files/{made['uuid']}/delete")
    until = re.search(r"until (\d+ \w+ \d{4})", visible_text(page))
    assert until is not None
    assert "Move to the trash" in page.text
    assert has_file(world.pia, made["uuid"])
    answer = post_deletion(owner_browser, made["uuid"], "trash")
    assert answer.status_code == 303
    after = visible_text(owner_browser.get(answer.headers["Location"]))
    assert f"The file is in the trash until {until[1]}." in after
    assert not has_file(world.pia, made["uuid"])
    assert "plan.pdf" in owner_browser.get("/trash").text


def test_a_file_can_be_deleted_permanently_without_the_trash(world: World, owner_browser: FlaskClient) -> None:
    made = world.pia.upload()
    page = owner_browser.get(f"/files/{made['uuid']}/delete?for-good=1")
    assert "This cannot be undone." in page.text
    assert 'name="fate" value="gone"' in page.text
    assert post_deletion(owner_browser, made["uuid"], "gone").status_code == 303
    assert world.rt.db.fetch_all("SELECT uuid FROM files") == []


def test_on_free_the_confirmation_page_warns_of_permanent_deletion(world: World) -> None:
    http = sign_in_browser(world, world.fay)
    made = world.fay.upload()
    page = http.get(f"/files/{made['uuid']}/delete")
    assert "This cannot be undone." in page.text
    assert "Your plan has no trash." in page.text
    assert "Move to the trash" not in page.text
    answer = post_deletion(http, made["uuid"], "gone")
    assert "permanently deleted" in visible_text(http.get(answer.headers["Location"]))
    assert world.rt.db.fetch_all("SELECT uuid FROM files") == []


def test_trashing_is_rejected_if_the_plan_no_longer_has_a_trash(world: World, owner_browser: FlaskClient) -> None:
    """The plan may end between confirmation page and form."""
    made = world.pia.upload()
    accounts.set_tier(world.rt, world.pia.email, Plan.FREE)
    answer = post_deletion(owner_browser, made["uuid"], "trash")
    assert answer.status_code == 409
    assert "The file was not deleted." in answer.text
    assert "This cannot be undone." in answer.text
    assert has_file(world.pia, made["uuid"])


@pytest.mark.parametrize("fate", ["", "both", "1"])
def test_without_a_fate_nothing_is_deleted(world: World, owner_browser: FlaskClient, fate: str) -> None:
    made = world.pia.upload()
    assert post_deletion(owner_browser, made["uuid"], fate).status_code == 400
    assert has_file(world.pia, made["uuid"])


def test_a_file_of_another_owner_is_404(world: World, owner_browser: FlaskClient) -> None:
    foreign = world.mal.upload()["uuid"]
    for name in (foreign, share_anonymously(world).uuid, "nonsense", "%00"):
        assert owner_browser.get(f"/files/{name}/delete").status_code == 404
        assert post_deletion(owner_browser, name, "gone").status_code == 404
    assert has_file(world.mal, foreign)


@pytest.mark.parametrize(
    ("headers", "token"),
    [
        ({}, ""),
        ({}, "nonsense"),
        ({"Sec-Fetch-Site": "cross-site"}, None),
        ({"Sec-Fetch-Site": "same-site"}, None),
        ({"Origin": "https://evil.example"}, None),
        ({"Origin": "null"}, None),
    ],
)
def test_a_forged_form_deletes_nothing(
    world: World, owner_browser: FlaskClient, headers: dict[str, str], token: str | None
) -> None:
    made = world.pia.upload()
    data = {"csrf": find_csrf_token(owner_browser.get("/login").text) if token is None else token, "fate": "trash"}
    answer = owner_browser.post(f"/files/{made['uuid']}/delete", data=data, headers=headers)
    assert answer.status_code == 403
    assert has_file(world.pia, made["uuid"])


@pytest.mark.parametrize("person", ["nobody", "another"])
def test_only_the_owner_can_delete_a_file(world: World, person: str) -> None:
    made = world.pia.upload()
    http = world.http if person == "nobody" else sign_in_browser(world, world.mal)
    data = {"csrf": "x" if person == "nobody" else find_csrf_token(http.get("/login").text), "fate": "gone"}
    status = {"nobody": 403, "another": 404}[person]
    assert http.post(f"/files/{made['uuid']}/delete", data=data).status_code == status
    assert has_file(world.pia, made["uuid"])


def test_opening_pages_deletes_nothing(world: World, owner_browser: FlaskClient) -> None:
    made = world.pia.upload()
    for address in ("/files", f"/files/{made['uuid']}/delete?fate=gone&for-good=1"):
        assert owner_browser.get(address).status_code == 200
        assert owner_browser.head(address).status_code == 200
    assert has_file(world.pia, made["uuid"])
