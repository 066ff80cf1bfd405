"""Invitations, forgotten passwords, new addresses and disabled accounts, as their owners meet them."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from flask.testing import FlaskClient

from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.server.services.accounts import accounts, invitations, sign_in
from docshare.server.services.operations import mail
from tests.support.outside.mail_server import FakeMailServer
from tests.support.outside.oauth_app import make_app
from tests.support.owner.browser import sign_in_browser
from tests.support.owner.forms import submit_and_follow, submit_form, visible_text
from tests.support.people.cast import World

PASSWORD = "a good long password"


@pytest.fixture
def world(make: Callable[..., World]) -> World:
    """Return an instance with a mail server, to which nothing is sent here, owned by the first person of the cast."""
    return make(smtp_url="smtp://127.0.0.1:9")


@pytest.fixture
def world_without_mail(make: Callable[..., World]) -> World:
    return make()


def sign_in_owner(world: World) -> FlaskClient:
    """Return a browser in which the owner of the instance is signed in."""
    http = world.app.test_client()
    url = sign_in.create_link(world.rt, accounts.get_owner(world.rt).email)
    assert http.post(url.removeprefix(world.rt.config.base_url)).status_code == 303
    return http


def list_mails(world: World, recipient: str) -> list[dict[str, Any]]:
    return [mail.show(world.rt, row["uuid"]) for row in mail.list_outbox(world.rt) if row["to"] == recipient]


def read_link_path(world: World, recipient: str) -> str:
    """Return the path of the link in the newest mail to ``recipient``."""
    found = re.search(r"/login/\w{40}", list_mails(world, recipient)[0]["message"])
    assert found is not None
    return found[0]


def is_signed_in(http: FlaskClient) -> bool:
    return "You are signed in" in http.get("/login").text


def sign_in_by_password(world: World, email: str, password: str = PASSWORD) -> int:
    return world.app.test_client().post("/login", data={"email": email, "password": password}).status_code


def invite(world: World, email: str = "kim@example.com") -> str:
    """Invite a colleague from the account page and return the path of the mailed link."""
    page = submit_and_follow(sign_in_owner(world), "/account/colleagues", colleague_email=email, tier="basic")
    assert f"An invitation was emailed to {email}" in page
    return read_link_path(world, email)


# --- invitations ------------------------------------------------------------------------------------------------------


def test_an_invited_colleague_sets_a_password_and_is_signed_in(world: World) -> None:
    path, browser = invite(world), world.app.test_client()
    page = browser.get(path)
    assert "kim@example.com" in visible_text(page)
    assert browser.post(path, data={"password": PASSWORD}).headers["Location"] == "/files"
    assert is_signed_in(browser)
    assert sign_in_by_password(world, "kim@example.com") == 303
    assert accounts.get_by_email(world.rt, "kim@example.com").plan == Plan.BASIC


def test_an_invitation_works_without_a_password_once_for_seven_days(world: World) -> None:
    path = invite(world)
    world.clock.advance(days=7, seconds=-1)
    assert world.http.post(path, data={"password": ""}).status_code == 303
    assert world.http.post(path, data={"password": ""}).status_code == 410
    late = invite(world, "lee@example.com")
    world.clock.advance(days=7)
    assert world.http.get(late).status_code == 410


def test_a_password_that_is_too_short_does_not_use_up_the_invitation(world: World) -> None:
    path = invite(world)
    refused = world.http.post(path, data={"password": "short"})
    assert (refused.status_code, "at least" in visible_text(refused)) == (400, True)
    assert world.http.post(path, data={"password": PASSWORD}).status_code == 303


def test_opening_an_invitation_changes_nothing(world: World) -> None:
    path = invite(world)
    for _ in range(3):
        assert world.http.get(path).status_code == 200
    assert world.http.post(path, headers={"Origin": "https://evil.example"}).status_code == 403
    assert world.http.post(path).status_code == 303


def test_without_a_mail_server_the_owner_gets_the_link_to_pass_on(world_without_mail: World) -> None:
    world = world_without_mail
    page = submit_form(sign_in_owner(world), "/account/colleagues", colleague_email="kim@example.com", tier="pro")
    (path,) = re.findall(r"/login/\w{40}", page.text)
    assert world.http.post(path, data={"password": PASSWORD}).status_code == 303


def test_only_the_owner_of_the_instance_invites_and_sees_other_accounts(world: World) -> None:
    owner = accounts.get_owner(world.rt).email
    other = next(person for person in (world.fay, world.pia) if person.email != owner)
    browser = sign_in_browser(world, other)
    assert "Accounts on this server" not in browser.get("/account").text
    assert submit_form(browser, "/account/colleagues", colleague_email="kim@example.com").status_code == 403
    page = visible_text(sign_in_owner(world).get("/account"))
    assert f"{other.email}, {'Free' if other is world.fay else 'Pro'} plan" in page
    refused = submit_form(sign_in_owner(world), "/account/colleagues", colleague_email=other.email)
    assert (refused.status_code, f"An account for {other.email} already exists" in refused.text) == (409, True)


def test_invitations_are_limited(world: World) -> None:
    browser = sign_in_owner(world)
    for number in range(invitations.INVITATIONS_PER_ACCOUNT.limit):
        submit_and_follow(browser, "/account/colleagues", colleague_email=f"kim{number}@example.com")
    refused = submit_form(browser, "/account/colleagues", colleague_email="one.more@example.com")
    assert (refused.status_code, int(refused.headers["Retry-After"]) > 0) == (429, True)


# --- forgotten passwords ----------------------------------------------------------------------------------------------


def forget(world: World, email: str, address: str = "198.51.100.8") -> tuple[int, str]:
    answer = world.app.test_client().post(
        "/login/forgot", data={"email": email}, environ_overrides={"REMOTE_ADDR": address}
    )
    return answer.status_code, visible_text(answer).replace(email, "EMAIL")


def test_a_forgotten_password_is_replaced_by_a_mailed_link(world: World) -> None:
    before = sign_in_browser(world, world.pia)
    assert forget(world, world.pia.email)[0] == 200
    path, browser = read_link_path(world, world.pia.email), world.app.test_client()
    assert browser.post(path, data={"password": ""}).status_code == 400
    assert browser.post(path, data={"password": PASSWORD}).status_code == 303
    assert is_signed_in(browser)
    assert not is_signed_in(before)
    assert sign_in_by_password(world, world.pia.email) == 303
    assert world.http.get(path).status_code == 410


def test_a_new_password_ends_a_reset_that_was_requested_before(world: World) -> None:
    forget(world, world.pia.email)
    path = read_link_path(world, world.pia.email)
    submit_and_follow(sign_in_browser(world, world.pia), "/account/password", password=PASSWORD)
    assert world.http.post(path, data={"password": "another long password"}).status_code == 410
    assert sign_in_by_password(world, world.pia.email) == 303


@pytest.mark.parametrize("path", ["/account/password", "/account/password/remove", "/account/sessions/end", "reset"])
def test_an_address_that_another_browser_requested_cannot_be_confirmed_after_it_was_signed_out(
    world: World, path: str
) -> None:
    submit_and_follow(sign_in_browser(world, world.pia), "/account/email", email="thief@example.com")
    confirmation = read_link_path(world, "thief@example.com")
    if path == "reset":
        forget(world, world.pia.email)
        world.http.post(read_link_path(world, world.pia.email), data={"password": PASSWORD})
    else:
        submit_and_follow(sign_in_browser(world, world.pia), path, **({"password": PASSWORD} if "word" in path else {}))
    assert world.http.post(confirmation).status_code == 410
    assert accounts.get_by_email(world.rt, world.pia.email)


def test_the_form_does_not_tell_who_has_an_account(world: World) -> None:
    accounts.disable(world.rt, world.pia.email)
    answers = {forget(world, email) for email in (world.fay.email, "nobody@example.com", world.pia.email)}
    assert len(answers) == 1
    assert [row["to"] for row in mail.list_outbox(world.rt)] == [world.fay.email]


def test_an_account_gets_three_such_mails_an_hour_and_the_form_looks_the_same(world: World) -> None:
    answers = {forget(world, world.pia.email, f"198.51.100.{number}") for number in range(5)}
    assert len(answers) == 1
    assert len(list_mails(world, world.pia.email)) == 3
    world.clock.advance(hours=1)
    forget(world, world.pia.email)
    assert len(list_mails(world, world.pia.email)) == 4


def test_a_network_may_ask_five_times_in_a_quarter_of_an_hour(world: World) -> None:
    statuses = [forget(world, f"somebody{number}@example.com")[0] for number in range(6)]
    assert statuses == [200] * 5 + [429]


def test_without_a_mail_server_the_page_says_whom_to_ask(world_without_mail: World) -> None:
    world = world_without_mail
    assert "docshare admin login-link" in world.http.get("/login/forgot").text
    assert forget(world, world.pia.email)[0] == 404


# --- a new address ----------------------------------------------------------------------------------------------------


def test_a_new_address_is_confirmed_by_a_mailed_link(world: World) -> None:
    browser = sign_in_browser(world, world.pia)
    page = submit_and_follow(browser, "/account/email", email="new@example.com")
    assert "Follow the link that was emailed to new@example.com" in page
    assert accounts.get_by_email(world.rt, world.pia.email).uuid == world.pia.uuid
    path = read_link_path(world, "new@example.com")
    assert "new@example.com" in visible_text(world.http.get(path))
    assert "You sign in as new@example.com" in visible_text(world.http.post(path))
    assert accounts.get_by_email(world.rt, "new@example.com").uuid == world.pia.uuid
    assert world.http.post(path).status_code == 410
    assert is_signed_in(browser)


def test_without_a_mail_server_a_new_address_is_effective_at_once(world_without_mail: World) -> None:
    world = world_without_mail
    browser = sign_in_browser(world, world.pia)
    assert "Your email address is now new@example.com" in submit_and_follow(
        browser, "/account/email", email="new@example.com"
    )
    assert accounts.get_by_email(world.rt, "new@example.com").uuid == world.pia.uuid


def test_an_account_does_not_get_the_invitations_of_an_address_that_it_had(world_without_mail: World) -> None:
    world = world_without_mail
    file = world.pia.upload()
    answer = world.pia.post(f"/api/v1/files/{file['uuid']}/invites", json={"email": "reader@example.com"})
    assert answer.status_code == 201
    browser = sign_in_browser(world, world.fay)
    for email in ("reader@example.com", "thief@example.com"):
        submit_and_follow(browser, "/account/email", email=email)
    assert accounts.get_by_email(world.rt, "thief@example.com").uuid == world.fay.uuid
    assert [row["to"] for row in mail.list_outbox(world.rt)] == ["reader@example.com"]


@pytest.mark.parametrize(("email", "status"), [("no address", 400), ("FAY@example.com", 409)])
def test_an_address_that_is_malformed_or_taken_is_refused(world: World, email: str, status: int) -> None:
    assert submit_form(sign_in_browser(world, world.pia), "/account/email", email=email).status_code == status
    assert mail.list_outbox(world.rt) == []


def test_an_address_that_was_taken_meanwhile_is_not_confirmed(world: World) -> None:
    submit_and_follow(sign_in_browser(world, world.pia), "/account/email", email="new@example.com")
    path = read_link_path(world, "new@example.com")
    accounts.create_account(world.rt, "new@example.com", "", Plan.FREE)
    assert world.http.post(path).status_code == 409
    assert accounts.get_by_email(world.rt, world.pia.email).uuid == world.pia.uuid


def test_mails_to_an_owner_without_an_address_wait_until_it_is_set(make: Callable[..., World]) -> None:
    with FakeMailServer() as server:
        world = make(smtp_url=server.url)
        owner = accounts.get_owner(world.rt)
        accounts.set_email(world.rt, owner.email, "owner@localhost")
        browser = world.app.test_client()
        url = sign_in.create_link(world.rt, "owner@localhost")
        browser.post(url.removeprefix(world.rt.config.base_url))
        assert "No email can reach you at owner@localhost" in browser.get("/files").text
        with world.rt.db.write():
            mail.enqueue(world.rt, "owner@localhost", "Hello", "text")
        assert mail.send_due(world.rt) == 0
        assert mail.list_outbox(world.rt)[0]["state"] == "kept"
        accounts.set_email(world.rt, "owner@localhost", "real@example.com")
        assert mail.send_due(world.rt) == 1
        (sent,) = mail.list_outbox(world.rt)
        assert (sent["to"], sent["state"]) == ("real@example.com", "sent")
        assert "No email can reach you" not in browser.get("/files").text


def test_a_configured_address_replaces_only_a_placeholder(world: World) -> None:
    owner = accounts.get_owner(world.rt)
    configured = replace(world.rt, config=replace(world.rt.config, owner="boss@example.com"))
    assert accounts.initialize_instance(configured, Plan.PRO).account.email == owner.email
    accounts.set_email(world.rt, owner.email, "owner@localhost")
    assert accounts.initialize_instance(configured, Plan.PRO).account.email == "boss@example.com"
    assert accounts.get_owner(world.rt).uuid == owner.uuid


# --- disabled accounts ------------------------------------------------------------------------------------------------


def test_a_disabled_account_can_do_nothing_and_its_links_stay_open(world: World) -> None:
    file, browser, app = world.pia.upload(), sign_in_browser(world, world.pia), make_app(world)
    tokens = app.approve_and_exchange()
    link = sign_in.create_link(world.rt, world.pia.email).removeprefix(world.rt.config.base_url)
    accounts.disable(world.rt, world.pia.email)
    assert world.pia.get("/api/v1/user").status_code == 401
    assert not is_signed_in(browser)
    assert world.http.post(link).status_code == 410
    assert world.http.get(f"/{file['shortId']}").status_code == 200
    assert app.get("/api/v1/user", tokens["access_token"]).status_code == 401
    assert app.refresh_token(tokens["refresh_token"]).get_json()["error"] == "invalid_grant"
    with pytest.raises(Problem, match="is disabled"):
        sign_in.create_link(world.rt, world.pia.email)
    accounts.enable(world.rt, world.pia.email)
    assert world.pia.get("/api/v1/user").status_code == 200
    assert not is_signed_in(browser)
    assert is_signed_in(sign_in_browser(world, world.pia))


def test_the_password_of_a_disabled_account_is_rejected_like_a_wrong_one(world: World) -> None:
    submit_and_follow(sign_in_browser(world, world.pia), "/account/password", password=PASSWORD)
    assert sign_in_by_password(world, world.pia.email) == 303
    accounts.disable(world.rt, world.pia.email)
    assert sign_in_by_password(world, world.pia.email) == 403
    accounts.enable(world.rt, world.pia.email)
    assert sign_in_by_password(world, world.pia.email) == 303


def test_the_owner_of_the_instance_cannot_be_disabled(world: World) -> None:
    with pytest.raises(Problem, match="cannot be disabled"):
        accounts.disable(world.rt, accounts.get_owner(world.rt).email)


def test_usage_counts_files_bytes_and_sessions(world: World) -> None:
    first, second = world.pia.upload(), world.pia.upload()
    world.rt.db.execute("UPDATE files SET view_count = 3 WHERE uuid = ?", (first["uuid"],))
    (usage,) = accounts.list_usage(world.rt, world.pia.email)
    size = sum(world.pia.get(f"/api/v1/files/{made['uuid']}").get_json()["size"] for made in (first, second))
    assert (usage["files"], usage["bytes"], usage["sessions"]) == (2, size, 3)
    assert world.pia.http.delete(f"/api/v1/files/{second['uuid']}", headers=world.pia.headers).status_code in (200, 204)
    assert accounts.list_usage(world.rt, world.pia.email)[0]["files"] == 1
    assert len(accounts.list_usage(world.rt)) == len(accounts.list_accounts(world.rt))
