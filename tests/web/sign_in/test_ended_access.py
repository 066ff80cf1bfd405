"""Requests of browsers that are signed out, or of accounts that are disabled, before they succeed."""

from collections.abc import Callable

import pytest

from docshare.contract.plans import Plan
from docshare.server.runtime import Runtime
from docshare.server.services.accounts import accounts
from docshare.server.services.links import share_passwords
from tests.support.browsers.forms import Form
from tests.support.owner.browser import sign_in_browser
from tests.support.owner.forms import submit_and_follow, submit_form
from tests.support.people.cast import World

PASSWORD = "a long and new password"


def interrupt_hash(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Call ``act`` while the first password is hashed."""
    real, pending = share_passwords.hash_password, [act]

    def hash_slowly(rt: Runtime, password: str) -> str:
        if pending:
            pending.pop()()
        return real(rt, password)

    monkeypatch.setattr(share_passwords, "hash_password", hash_slowly)


@pytest.mark.parametrize("how", ["signed out", "disabled", "deleted"])
def test_a_password_is_not_set_by_a_browser_that_is_signed_out_meanwhile(
    world: World, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    thief, owner = sign_in_browser(world, world.bea), sign_in_browser(world, world.bea)
    acts = {
        "signed out": lambda: submit_and_follow(owner, "/account/sessions/end"),
        "disabled": lambda: accounts.disable(world.rt, world.bea.email),
        "deleted": lambda: accounts.delete_account(world.rt, world.bea.email),
    }
    interrupt_hash(monkeypatch, acts[how])
    answer = submit_form(thief, "/account/password", password=PASSWORD)
    assert answer.status_code == 401
    assert "You were signed out in the meantime." in answer.text
    assert world.bea.email not in answer.text
    if how == "disabled":
        accounts.enable(world.rt, world.bea.email)
    assert (owner.get("/account").status_code == 200) == (how == "signed out")
    entered = world.http.post("/login", data={"email": world.bea.email, "password": PASSWORD})
    assert entered.status_code == 403


def test_the_password_of_a_file_is_not_changed_by_a_key_that_is_revoked_meanwhile(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = world.pia.upload()
    (key,) = accounts.list_keys(world.rt, world.pia.email)
    interrupt_hash(monkeypatch, lambda: accounts.revoke_key(world.rt, key["uuid"]))
    answer = world.pia.put(f"/api/v1/files/{file['uuid']}/settings", json={"password": PASSWORD})
    assert (answer.status_code, answer.get_json()["code"]) == (401, "unauthorized")
    assert world.http.get(f"/api/files/{file['uuid']}/metadata").get_json()["protected"] is False


def test_the_password_of_a_file_is_not_changed_by_a_browser_that_is_signed_out_meanwhile(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, browser = world.pia.upload(), sign_in_browser(world, world.pia)
    owner = sign_in_browser(world, world.pia)
    form = Form(browser, f"/files/{file['uuid']}/settings")
    interrupt_hash(monkeypatch, lambda: submit_and_follow(owner, "/account/sessions/end"))
    answer = form.send({"password": PASSWORD})
    assert (answer.status_code, file["shortId"] in answer.text) == (401, False)
    assert world.http.get(f"/api/files/{file['uuid']}/metadata").get_json()["protected"] is False


def test_the_password_of_a_file_requires_the_plan_after_its_hash(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    file = world.bea.upload()
    interrupt_hash(monkeypatch, lambda: accounts.set_tier(world.rt, world.bea.email, Plan.FREE))
    answer = world.bea.put(f"/api/v1/files/{file['uuid']}/settings", json={"password": PASSWORD})
    assert (answer.status_code, answer.get_json()["code"]) == (403, "plan_required")
