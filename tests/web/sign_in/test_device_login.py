"""The login of a program without a browser (RFC 8628): codes, polling, the page, and the limits."""

import re
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from docshare.server.services.accounts import sign_in
from docshare.server.workers.jobs import JOBS
from tests.support.engines.database import dump_database
from tests.support.engines.rows import update_file_row
from tests.support.outside.oauth_app import OAuthApp, make_app
from tests.support.owner.browser import sign_in_browser
from tests.support.people.cast import BASE_URL, World

GRANT = "urn:ietf:params:oauth:grant-type:device_code"


@pytest.fixture
def app(world: World) -> OAuthApp:
    return make_app(world, public=True)


def begin(app: OAuthApp, **changes: str) -> TestResponse:
    form = {"client_id": app.client_id, "scope": "files:read profile", **changes}
    return app.http.post("/oauth/device_authorization", data=form)


def begin_login(app: OAuthApp) -> dict[str, Any]:
    answer = begin(app)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.get_json()
    return found


def poll(app: OAuthApp, device_code: str) -> TestResponse:
    return app.request_token(grant_type=GRANT, device_code=device_code)


def enter(browser: FlaskClient, code: str, **fields: str) -> TestResponse:
    """Send the form of the page with ``code``."""
    page = browser.get("/device")
    found = re.search(r'name="csrf" value="([^"]+)"', page.text)
    assert found is not None, page.text
    return browser.post("/device", data={"csrf": found[1], "user_code": code, **fields})


def error_of(answer: TestResponse) -> tuple[int, str]:
    return answer.status_code, answer.get_json()["error"]


def test_a_login_returns_two_codes_and_the_address_of_the_page(app: OAuthApp) -> None:
    answer = begin(app)
    assert answer.headers["Cache-Control"] == "no-store"
    found = answer.get_json()
    assert re.fullmatch("[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}", found["user_code"])
    assert re.fullmatch("[0-9A-Za-z]{43}", found.pop("device_code"))
    assert found == {
        "user_code": found["user_code"],
        "verification_uri": f"{BASE_URL}/device",
        "verification_uri_complete": f"{BASE_URL}/device?user_code={found['user_code']}",
        "expires_in": 900,
        "interval": 5,
    }


def test_an_allowed_login_gets_tokens_once(app: OAuthApp) -> None:
    codes = begin_login(app)
    assert error_of(poll(app, codes["device_code"])) == (400, "authorization_pending")
    asked = enter(app.owner, codes["user_code"].lower().replace("-", " "))
    assert asked.status_code == 200
    assert "Sales &lt;dashboard&gt;" in asked.text
    assert "pia@example.com" in asked.text
    assert "127.0.0.1" in asked.text
    assert codes["user_code"] in asked.text
    assert re.findall(r"<code>([a-z:]+)</code>", asked.text) == ["files:read", "profile"]
    app.world.clock.advance(seconds=5)
    assert error_of(poll(app, codes["device_code"])) == (400, "authorization_pending")
    assert "is logged in" in enter(app.owner, codes["user_code"], decision="approve").text
    tokens = poll(app, codes["device_code"]).get_json()
    assert tokens["scope"] == "files:read profile"
    assert app.get("/api/v1/user", tokens["access_token"]).get_json()["email"] == "pia@example.com"
    assert app.refresh_token(tokens["refresh_token"]).status_code == 200
    assert error_of(poll(app, codes["device_code"])) == (400, "invalid_grant")
    assert enter(app.owner, codes["user_code"]).status_code == 404


def test_a_denied_login_gets_nothing(app: OAuthApp) -> None:
    codes = begin_login(app)
    assert "does not have access" in enter(app.owner, codes["user_code"], decision="deny").text
    assert error_of(poll(app, codes["device_code"])) == (400, "access_denied")
    assert enter(app.owner, codes["user_code"], decision="approve").status_code == 404
    assert app.world.rt.db.fetch_all("SELECT COUNT(*) FROM oauth_grants") == [(0,)]


def test_a_program_that_polls_too_often_is_slowed_down_each_time(app: OAuthApp) -> None:
    code = begin_login(app)["device_code"]
    answers = []
    for seconds in (0, 4, 9, 10):
        app.world.clock.advance(seconds=seconds)
        answers.append(poll(app, code).get_json()["error"])
    assert answers == ["authorization_pending", "slow_down", "slow_down", "slow_down"]
    app.world.clock.advance(seconds=20)
    assert poll(app, code).get_json()["error"] == "authorization_pending"


def test_a_code_expires_after_15_minutes_and_is_deleted_after_30(app: OAuthApp) -> None:
    codes = begin_login(app)
    app.world.clock.advance(minutes=15)
    assert enter(app.owner, codes["user_code"]).status_code == 404
    (forget,) = (job.run for job in JOBS if job.name == "delete expired grants")
    assert forget(app.world.rt) == 0
    assert error_of(poll(app, codes["device_code"])) == (400, "expired_token")
    app.world.clock.advance(minutes=15)
    assert forget(app.world.rt) == 1
    assert error_of(poll(app, codes["device_code"])) == (400, "invalid_grant")


def test_an_approval_also_expires(app: OAuthApp) -> None:
    codes = begin_login(app)
    enter(app.owner, codes["user_code"], decision="approve")
    app.world.clock.advance(minutes=15)
    assert error_of(poll(app, codes["device_code"])) == (400, "expired_token")


def test_another_client_cannot_use_the_code(app: OAuthApp) -> None:
    codes = begin_login(app)
    enter(app.owner, codes["user_code"], decision="approve")
    assert error_of(poll(make_app(app.world, public=True), codes["device_code"])) == (400, "invalid_grant")
    assert poll(app, codes["device_code"]).status_code == 200


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"scope": ""}, (400, "invalid_scope")),
        ({"scope": "files:read everything"}, (400, "invalid_scope")),
        ({"client_id": "nobody"}, (400, "invalid_client")),
    ],
)
def test_an_invalid_request_gets_no_code(app: OAuthApp, changes: dict[str, str], error: tuple[int, str]) -> None:
    assert error_of(begin(app, **changes)) == error
    assert app.world.rt.db.fetch_all("SELECT COUNT(*) FROM device_codes") == [(0,)]


def test_the_database_has_neither_code(app: OAuthApp) -> None:
    codes = begin_login(app)
    stored = "".join(dump_database(app.world))
    assert codes["device_code"] not in stored
    assert codes["user_code"] not in stored


def test_a_visitor_signs_in_first_and_returns_to_the_page(app: OAuthApp) -> None:
    code = begin_login(app)["user_code"]
    browser = app.world.app.test_client()
    assert browser.get(f"/device?user_code={code}").status_code == 403
    link = sign_in.create_link(app.world.rt, "pia@example.com")
    entered = browser.post(link.removeprefix(BASE_URL), headers={"Sec-Fetch-Site": "same-origin"})
    assert entered.headers["Location"] == f"/device?user_code={code}"
    assert f'value="{code}"' in browser.get(entered.headers["Location"]).text


def test_a_link_that_was_called_device_before_still_opens_for_readers(app: OAuthApp) -> None:
    world, code = app.world, begin_login(app)["user_code"]
    made = world.pia.upload(name="Device catalog.pdf")
    update_file_row(world, made["uuid"], slug="device")
    shown = world.http.get("/device")
    assert (shown.status_code, "<title>Device catalog" in shown.text) == (200, True)
    assert world.http.get(f"/device?user_code={code}").status_code == 403, "a login asks to sign in"
    assert f'value="{code}"' in app.owner.get(f"/device?user_code={code}").text
    assert "user_code" in app.owner.get("/device").text
    assert world.pia.put(f"/api/v1/files/{made['uuid']}/settings", json={"slug": "device"}).status_code == 400
    world.pia.delete(f"/api/v1/files/{made['uuid']}")
    assert world.http.get("/device").status_code == 403


def test_the_form_needs_the_token_of_the_session(app: OAuthApp) -> None:
    codes = begin_login(app)
    form = {"user_code": codes["user_code"], "decision": "approve"}
    assert app.owner.post("/device", data=form).status_code == 403
    assert app.http.post("/device", data=form).status_code == 403
    assert error_of(poll(app, codes["device_code"])) == (400, "authorization_pending")


def test_wrong_codes_are_limited_per_account(app: OAuthApp) -> None:
    code = begin_login(app)["user_code"]
    wrong = [enter(app.owner, "BBBB-BBBB").status_code for _ in range(11)]
    assert wrong == [404] * 10 + [429]
    refused = enter(app.owner, code)
    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) > 0
    assert enter(sign_in_browser(app.world, app.world.bea), code).status_code == 200
    app.world.clock.advance(minutes=14)
    assert enter(app.owner, begin_login(app)["user_code"]).status_code == 429
    app.world.clock.advance(minutes=2)
    assert enter(app.owner, begin_login(app)["user_code"]).status_code == 200


def test_wrong_codes_are_limited_per_network_over_all_accounts(app: OAuthApp) -> None:
    people = (app.world.pia, app.world.bea, app.world.fay)
    for person in people:
        browser = sign_in_browser(app.world, person)
        assert [enter(browser, "?").status_code for _ in range(10)] == [404] * 10
    other = sign_in_browser(app.world, app.world.mal)
    assert enter(other, begin_login(app)["user_code"]).status_code == 429


def test_new_logins_are_limited_per_network(app: OAuthApp) -> None:
    assert [begin(app).status_code for _ in range(30)] == [200] * 30
    refused = begin(app)
    assert error_of(refused) == (429, "temporarily_unavailable")
    assert 0 < int(refused.headers["Retry-After"]) <= 15 * 60
    app.world.clock.advance(minutes=16)
    assert begin(app).status_code == 200


def test_waiting_is_not_counted_as_a_failure(make: Any) -> None:
    app = make_app(make(address_limit=2), public=True)
    code = begin_login(app)["device_code"]
    for _ in range(5):
        assert poll(app, code).status_code == 400
    assert [poll(app, "x").status_code for _ in range(3)] == [400, 400, 429]


def test_the_description_has_the_keys_of_the_responses(app: OAuthApp) -> None:
    described = app.http.get("/api/v1/openapi.json").get_json()["paths"]["/oauth/device_authorization"]["post"]
    assert described["x-addition"] is True
    codes = described["responses"]["200"]["content"]["application/json"]["schema"]
    assert set(codes["properties"]) == set(codes["required"]) == set(begin_login(app))
    errors = described["responses"]["429"]["content"]["application/json"]["schema"]
    assert set(begin(app, scope="nothing").get_json()) <= set(errors["properties"])
    assert list(described["responses"]["429"]["headers"]) == ["Retry-After"]


def test_the_metadata_names_the_endpoint_and_the_grant(world: World) -> None:
    found = world.http.get("/.well-known/oauth-authorization-server").get_json()
    assert found["device_authorization_endpoint"] == f"{BASE_URL}/oauth/device_authorization"
    assert found["grant_types_supported"] == ["authorization_code", "refresh_token", GRANT]
