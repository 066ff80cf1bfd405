"""Requests of browsers that are signed out, or of accounts that are disabled, before they succeed."""

from collections.abc import Callable

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from docshare.contract.plans import Plan
from docshare.contract.scopes import DEVICE_GRANT_TYPE
from docshare.server.runtime import Runtime
from docshare.server.services.accounts import accounts, sign_in
from docshare.server.services.links import share_passwords
from docshare.server.services.oauth import clients, devices
from tests.support.browsers.forms import Form
from tests.support.engines.rows import count_rows
from tests.support.outside.oauth_app import OAuthApp, make_app
from tests.support.owner.browser import sign_in_browser
from tests.support.owner.forms import submit_and_follow, submit_form
from tests.support.people.cast import World
from tests.support.people.interrupted import Interruption

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


# --- approvals of apps that the app has not used yet ------------------------------------------------------------------


def approve_device_login(app: OAuthApp) -> str:
    """Return the device code of a login that the owner has approved."""
    form = {"client_id": app.client_id, "client_secret": app.secret, "scope": "files:read"}
    codes = app.http.post("/oauth/device_authorization", data=form).get_json()
    assert submit_form(app.owner, "/device", user_code=codes["user_code"], decision="approve").status_code == 200
    return str(codes["device_code"])


def end_by_reset(world: World) -> None:
    with world.rt.db.write():
        account = accounts.get_by_email(world.rt, world.bea.email)
        link = sign_in.create_account_link(world.rt, account.id, sign_in.RESET, 60_000)
    path = link.removeprefix(world.rt.config.base_url)
    assert world.app.test_client().post(path, data={"password": PASSWORD}).status_code == 303


def end_by_disabling(world: World) -> None:
    accounts.disable(world.rt, world.bea.email)
    accounts.enable(world.rt, world.bea.email)


def end_by_form(path: str, **fields: str) -> Callable[[World], object]:
    return lambda world: submit_and_follow(sign_in_browser(world, world.bea), path, **fields)


ENDS: dict[str, Callable[[World], object]] = {
    "sign out": end_by_form("/account/sessions/end"),
    "set a password": end_by_form("/account/password", password=PASSWORD),
    "remove the password": end_by_form("/account/password/remove"),
    "reset": end_by_reset,
    "disable": end_by_disabling,
}


@pytest.mark.parametrize("end", ENDS)
def test_an_app_that_another_browser_allowed_gets_no_tokens_after_it_was_signed_out(world: World, end: str) -> None:
    """The list of apps does not show an approval before it is used."""
    app = make_app(world, world.bea)
    code, device_code = app.create_code(), approve_device_login(app)
    ENDS[end](world)
    answer = app.exchange_code(code)
    assert (answer.status_code, answer.get_json()["error"]) == (400, "invalid_grant")
    answer = app.request_token(grant_type=DEVICE_GRANT_TYPE, device_code=device_code)
    assert (answer.status_code, answer.get_json()["error"]) == (400, "access_denied")
    assert count_rows(world, "oauth_grants") == 0


@pytest.mark.parametrize("end", ENDS)
def test_other_accounts_and_apps_that_have_tokens_keep_their_access(world: World, end: str) -> None:
    app, other = make_app(world, world.bea), make_app(world, world.pia)
    tokens, code, device_code = app.approve_and_exchange(), other.create_code(), approve_device_login(other)
    ENDS[end](world)
    assert app.get("/api/v1/files", tokens["access_token"]).status_code == 200
    assert other.exchange_code(code).status_code == 200
    assert other.request_token(grant_type=DEVICE_GRANT_TYPE, device_code=device_code).status_code == 200


def test_a_program_that_polls_while_its_approval_is_ended_gets_no_tokens(world: World) -> None:
    app = make_app(world, world.bea)
    device_code = approve_device_login(app)
    client = clients.find(world.rt, app.client_id)
    assert client is not None
    login = devices.find_login(world.rt, device_code, client)
    assert login is not None
    end_by_disabling(world)
    assert devices.exchange(world.rt, login) is None


# --- tokens of a disabled account -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
def test_a_token_that_was_revoked_while_the_account_was_disabled_stays_revoked(world: World, kind: str) -> None:
    app = make_app(world, world.bea)
    tokens = app.approve_and_exchange()
    accounts.disable(world.rt, world.bea.email)
    form = {"token": tokens[kind], "client_id": app.client_id, "client_secret": app.secret}
    assert app.http.post("/oauth/revoke", data=form).status_code == 200
    accounts.enable(world.rt, world.bea.email)
    assert app.get("/api/v1/files", tokens["access_token"]).status_code == 401
    assert app.refresh_token(tokens["refresh_token"]).status_code == (400 if kind == "refresh_token" else 200)


def test_a_copied_refresh_token_revokes_the_grant_of_a_disabled_account_too(world: World) -> None:
    app = make_app(world, world.bea)
    first = app.approve_and_exchange()
    second = app.refresh_token(first["refresh_token"]).get_json()
    world.clock.advance(minutes=1)
    accounts.disable(world.rt, world.bea.email)
    for token in (second["refresh_token"], first["refresh_token"]):
        answer = app.refresh_token(token)
        assert (answer.status_code, answer.get_json()["error"]) == (400, "invalid_grant")
    accounts.enable(world.rt, world.bea.email)
    assert app.refresh_token(second["refresh_token"]).status_code == 400


# --- requests that wait for the database while their access ends ------------------------------------------------------


def send_form(path: str, **fields: str) -> Callable[[World, FlaskClient], Callable[[], TestResponse]]:
    return lambda world, browser: lambda: submit_form(browser, path, **fields)


def allow_app(world: World, browser: FlaskClient) -> Callable[[], TestResponse]:
    address = make_app(world).authorize_url()
    return lambda: submit_form(browser, address, decision="approve")


def allow_device(world: World, browser: FlaskClient) -> Callable[[], TestResponse]:
    app = make_app(world, public=True)
    form = {"client_id": app.client_id, "scope": "files:read"}
    code = app.http.post("/oauth/device_authorization", data=form).get_json()["user_code"]
    return lambda: submit_form(browser, "/device", user_code=code, decision="approve")


# Each gives somebody access that lasts longer than the session.
REQUESTS: dict[str, Callable[[World, FlaskClient], Callable[[], TestResponse]]] = {
    "key": send_form("/account/keys", key_name="mine"),
    "restricted key": send_form("/account/keys", key_name="mine", restricted="1", scope="files:read"),
    "address": send_form("/account/email", email="thief@example.com"),
    "account": send_form("/account/colleagues", colleague_email="thief@example.com", tier="pro"),
    "app": allow_app,
    "device": allow_device,
}
LASTING_ACCESS = {
    "a key": "SELECT 1 FROM api_keys WHERE name = 'mine'",
    "a link": "SELECT 1 FROM login_links WHERE used_at IS NULL",
    "a mail": "SELECT 1 FROM mails",
    "a code": "SELECT 1 FROM oauth_codes",
    "a login": "SELECT 1 FROM device_codes WHERE approved_at IS NOT NULL",
    "an account": "SELECT 1 FROM accounts WHERE email = 'thief@example.com'",
}


@pytest.mark.parametrize("how", ["signed out", "deleted"])
@pytest.mark.parametrize("with_mail", [False, True])
@pytest.mark.parametrize("name", REQUESTS)
def test_a_browser_that_is_signed_out_meanwhile_gives_nobody_access(
    make: Callable[..., World], name: str, with_mail: bool, how: str
) -> None:
    world = make(smtp_url="smtp://127.0.0.1:9") if with_mail else make()
    thief, owner = sign_in_browser(world, world.fay), sign_in_browser(world, world.fay)
    assert accounts.get_owner(world.rt).email == world.fay.email
    send = REQUESTS[name](world, thief)
    acts = {
        "signed out": lambda: submit_and_follow(owner, "/account/sessions/end"),
        "deleted": lambda: accounts.delete_account(world.rt, world.fay.email),
    }
    with Interruption(world, 1, acts[how]):
        answer = send()
    assert (answer.status_code, "You were signed out in the meantime." in answer.text) == (401, True)
    assert [given for given, query in LASTING_ACCESS.items() if world.rt.db.fetch_one(query)] == []


def test_a_browser_that_is_signed_out_meanwhile_does_not_sign_out_the_others(world: World) -> None:
    thief, owner = sign_in_browser(world, world.pia), sign_in_browser(world, world.pia)
    with Interruption(world, 1, lambda: submit_and_follow(owner, "/account/sessions/end")):
        assert submit_form(thief, "/account/sessions/end").status_code == 401
    assert owner.get("/account").status_code == 200


@pytest.mark.parametrize("how", ["moved", "disabled", "deleted"])
def test_no_password_can_be_reset_by_an_address_that_the_account_has_lost_meanwhile(
    make: Callable[..., World], how: str
) -> None:
    world = make(smtp_url="smtp://127.0.0.1:9")
    email, ends = world.bea.email, {"disabled": accounts.disable, "deleted": accounts.delete_account}
    end = ends.get(how, lambda rt, email: accounts.set_email(rt, email, "new@example.com"))
    with Interruption(world, 1, lambda: end(world.rt, email)):
        assert world.http.post("/login/forgot", data={"email": email}).status_code == 200
    assert world.rt.db.fetch_all("SELECT recipient FROM mails") == []
    assert world.rt.db.fetch_all("SELECT kind FROM login_links") == []


def test_a_key_that_is_revoked_meanwhile_creates_no_other_key(world: World) -> None:
    (key,) = accounts.list_keys(world.rt, world.pia.email)
    with Interruption(world, 1, lambda: accounts.revoke_key(world.rt, key["uuid"])):
        answer = world.pia.post("/api/v1/keys", json={"name": "another", "scopes": ["files:read"]})
    assert (answer.status_code, answer.get_json()["code"]) == (401, "unauthorized")
    assert len(accounts.list_keys(world.rt, world.pia.email)) == 1
