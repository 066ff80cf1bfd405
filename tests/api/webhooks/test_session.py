"""Webhooks of a signed-in browser: ``/api/webhooks``."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from docshare.server.services.accounts.sign_in import SESSION_LIFETIME_MS
from tests.api.raw_client import open_listener
from tests.api.route_table import UNKNOWN_UUID
from tests.support.engines.rows import count_rows
from tests.support.outside.receivers import LOOPBACK_NETWORKS, FakeReceiver
from tests.support.owner.browser import sign_in_browser
from tests.support.people.cast import BASE_URL, NO_CREDENTIAL, Person, World
from tests.support.people.webhooks import URL, WEBHOOKS_PATH, create_webhook, list_webhooks

pytestmark = [
    pytest.mark.world(rate_limit=1_000, webhook_allow=LOOPBACK_NETWORKS),
    pytest.mark.usefixtures("resolve_hosts"),
]


SESSION_PATH = "/api/webhooks"
BODY = {"url": URL, "events": ["file.viewed"]}
WRITES = [("POST", ""), ("DELETE", "/{uuid}"), ("POST", "/{uuid}/test")]


@dataclass
class WebhookBrowser:
    """A browser with a signed-in session, and the CSRF token of its pages."""

    http: FlaskClient
    csrf: str

    def send(self, method: str, tail: str = "", **more: Any) -> TestResponse:
        """Send a request with the CSRF token; ``headers`` override."""
        headers = {"X-CSRF-Token": self.csrf} | more.pop("headers", {})
        return self.http.open(f"{SESSION_PATH}{tail}", method=method, headers=headers, **more)


def open_signed_in_browser(world: World, person: Person) -> WebhookBrowser:
    http = sign_in_browser(world, person)
    found = re.search(r'name="csrf" value="([^"]+)"', http.get("/login").text)
    assert found is not None
    return WebhookBrowser(http, found[1])


@pytest.fixture
def browser(world: World) -> WebhookBrowser:
    return open_signed_in_browser(world, world.pia)


def send_write(browser: WebhookBrowser, method: str, tail: str, uuid: str, **more: Any) -> TestResponse:
    """Send one of the ``WRITES`` with its body."""
    body = {"json": BODY} if not tail else {}
    return browser.send(method, tail.replace("{uuid}", uuid), **(body | more))


# --- the same webhooks -----------------------------------------------------------------------------------------------


def test_a_signed_in_owner_can_create_list_test_and_delete_webhooks(
    world: World, browser: WebhookBrowser, receiver: FakeReceiver
) -> None:
    """The webhooks are the same as under ``/api/v1/webhooks``."""
    made = browser.send("POST", json={"url": receiver.url, "events": ["file.viewed"]})
    assert made.status_code == 201
    assert list(made.get_json()) == ["webhook", "secret"]
    uuid = made.get_json()["webhook"]["uuid"]
    assert browser.send("GET").get_json() == world.pia.get(WEBHOOKS_PATH).get_json()
    assert browser.send("POST", f"/{uuid}/test").get_json()["delivered"] is True
    assert browser.send("DELETE", f"/{uuid}").status_code == 204
    assert list_webhooks(world.pia) == []


def test_a_browser_session_cannot_enable_a_webhook(world: World, browser: WebhookBrowser) -> None:
    uuid = create_webhook(world.pia)["webhook"]["uuid"]
    assert browser.send("POST", f"/{uuid}/enable").status_code == 404


@pytest.mark.parametrize(("method", "tail"), [("DELETE", "/{uuid}"), ("POST", "/{uuid}/test")])
def test_a_foreign_webhook_is_404(world: World, browser: WebhookBrowser, method: str, tail: str) -> None:
    foreign = create_webhook(world.mal)["webhook"]["uuid"]
    answers = [send_write(browser, method, tail, uuid) for uuid in (foreign, UNKNOWN_UUID)]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].data == answers[1].data
    assert len(list_webhooks(world.mal)) == 1


# --- credentials -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "tail"), [("GET", ""), *WRITES])
@pytest.mark.parametrize("cookie", [None, "", "nonsense", "x" * 4000])
def test_a_request_without_a_valid_session_is_401(world: World, method: str, tail: str, cookie: str | None) -> None:
    if cookie is not None:
        world.http.set_cookie("docshare_session", cookie)
    answer = world.http.open(f"{SESSION_PATH}{tail.replace('{uuid}', UNKNOWN_UUID)}", method=method)
    assert (answer.status_code, answer.get_json()["code"]) == (401, "unauthorized")
    assert answer.headers["WWW-Authenticate"] == NO_CREDENTIAL


def test_an_expired_session_is_401(world: World, browser: WebhookBrowser) -> None:
    assert browser.send("GET").status_code == 200
    world.clock.advance(milliseconds=SESSION_LIFETIME_MS)
    assert browser.send("GET").status_code == 401


def test_a_session_is_401_immediately_after_sign_out(world: World, browser: WebhookBrowser) -> None:
    cookie = browser.http.get_cookie("docshare_session")
    assert cookie is not None
    assert browser.http.post("/logout", data={"csrf": browser.csrf}).status_code == 303
    browser.http.set_cookie("docshare_session", cookie.value)
    assert browser.send("POST", json=BODY).status_code == 401
    assert count_rows(world, "webhooks") == 0


def test_the_session_cookie_is_not_accepted_under_api_v1(world: World, browser: WebhookBrowser) -> None:
    answer = browser.http.get(WEBHOOKS_PATH, headers={"X-CSRF-Token": browser.csrf})
    assert answer.status_code == 401


def test_only_a_host_prefixed_cookie_is_accepted_over_https(make: Callable[..., World]) -> None:
    """A cookie without the ``__Host-`` prefix may have been set by a sibling domain."""
    world = make(base_url="https://docs.example.com")
    http = world.app.test_client()
    browser = open_signed_in_browser(world, world.pia)
    cookie = browser.http.get_cookie("__Host-docshare_session")
    assert cookie is not None
    http.set_cookie("docshare_session", cookie.value)
    assert http.get(SESSION_PATH).status_code == 401
    assert browser.http.get(SESSION_PATH).status_code == 200


# --- cross-site requests ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "tail"), WRITES)
@pytest.mark.parametrize("token", [None, "", "nonsense", "\xff", "other session"])
def test_a_write_without_the_csrf_token_of_its_session_is_403(
    world: World, browser: WebhookBrowser, method: str, tail: str, token: str | None
) -> None:
    uuid = create_webhook(world.pia)["webhook"]["uuid"]
    if token == "other session":
        token = open_signed_in_browser(world, world.pia).csrf
    headers = {} if token is None else {"X-CSRF-Token": token}
    body = {"json": BODY} if not tail else {}
    answer = browser.http.open(f"{SESSION_PATH}{tail.replace('{uuid}', uuid)}", method=method, headers=headers, **body)
    assert (answer.status_code, answer.get_json()["code"]) == (403, "forbidden")
    assert [row["uuid"] for row in list_webhooks(world.pia)] == [uuid]


@pytest.mark.parametrize(("method", "tail"), WRITES)
@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "cross-site", "Origin": BASE_URL}, {"Sec-Fetch-Site": ""}, {"Origin": "https://evil.example"},
        {"Origin": "null"}, {"Origin": "http://127.0.0.1:9999"}, {"Origin": f"{BASE_URL}.evil.example"},
    ],
)  # fmt: skip
def test_a_cross_site_write_is_403_even_with_a_csrf_token(
    world: World, browser: WebhookBrowser, method: str, tail: str, headers: dict[str, str]
) -> None:
    """Sec-Fetch-Site is checked before Origin, and both before the token."""
    uuid = create_webhook(world.pia)["webhook"]["uuid"]
    answer = send_write(browser, method, tail, uuid, headers=headers)
    assert (answer.status_code, answer.get_json()["code"]) == (403, "forbidden")
    assert [row["uuid"] for row in list_webhooks(world.pia)] == [uuid]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "same-origin"},
        {"Origin": BASE_URL},
        {"Sec-Fetch-Site": "same-origin", "Origin": "null"},
    ],
)
def test_a_same_origin_write_is_accepted(browser: WebhookBrowser, headers: dict[str, str]) -> None:
    assert browser.send("POST", json=BODY, headers=headers).status_code == 201


def test_a_read_requires_no_csrf_token(world: World, browser: WebhookBrowser) -> None:
    create_webhook(world.pia)
    assert len(browser.http.get(SESSION_PATH).get_json()["webhooks"]) == 1


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None]
)
def test_a_body_that_is_not_json_is_415(world: World, browser: WebhookBrowser, content_type: str | None) -> None:
    """Forms of other sites can only have other content types."""
    answer = browser.send("POST", data=json.dumps(BODY), content_type=content_type)
    assert answer.status_code == 415
    assert count_rows(world, "webhooks") == 0


def test_responses_have_no_cors_headers(browser: WebhookBrowser) -> None:
    answer = browser.send("GET", headers={"Origin": "https://evil.example"})
    assert not [name for name in answer.headers if name[0].startswith("Access-Control")]
    assert answer.headers["Cache-Control"] == "private, no-store"


# --- bearer tokens ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "tail", "status"), [("GET", "", 200), ("POST", "", 201), ("DELETE", "/{uuid}", 204)]
)
def test_a_bearer_token_requires_no_csrf_token(world: World, method: str, tail: str, status: int) -> None:
    uuid = create_webhook(world.pia)["webhook"]["uuid"]
    headers = world.pia.headers | {"Sec-Fetch-Site": "cross-site"}
    answer = world.http.open(f"{SESSION_PATH}{tail.replace('{uuid}', uuid)}", method=method, headers=headers, json=BODY)
    assert answer.status_code == status


def test_a_bearer_token_takes_precedence_over_a_cookie(world: World, browser: WebhookBrowser) -> None:
    """The webhook belongs to the account of the bearer token."""
    assert browser.send("POST", json=BODY, headers=world.mal.headers).status_code == 201
    assert (len(list_webhooks(world.mal)), list_webhooks(world.pia)) == (1, [])


def test_an_invalid_bearer_token_with_a_valid_cookie_is_401(browser: WebhookBrowser) -> None:
    answer = browser.send("GET", headers={"Authorization": "Bearer ds_live_nobody"})
    assert answer.status_code == 401


# --- limits ----------------------------------------------------------------------------------------------------------


def test_webhook_tests_of_sessions_are_limited_by_address(world: World, browser: WebhookBrowser) -> None:
    """All accounts of an address share 10 tests per minute, separately from those under ``/api/v1``."""
    mine, theirs = create_webhook(world.pia)["webhook"]["uuid"], create_webhook(world.mal)["webhook"]["uuid"]
    world.rt.outbound.resolve = lambda host: []  # no receiver is called
    statuses = [browser.send("POST", f"/{mine}/test").status_code for _ in range(5)]
    statuses += [world.mal.post(f"{SESSION_PATH}/{theirs}/test").status_code for _ in range(6)]
    assert statuses == [200] * 10 + [429]
    refused = browser.send("POST", f"/{mine}/test")
    assert (refused.status_code, refused.headers["RateLimit-Policy"]) == (429, '"webhook-test";q=10;w=60')
    elsewhere = browser.send("POST", f"/{mine}/test", environ_overrides={"REMOTE_ADDR": "203.0.113.9"})
    assert elsewhere.status_code == 200
    assert world.pia.post(f"{WEBHOOKS_PATH}/{mine}/test").status_code == 200


def test_requests_are_limited_per_session(make: Callable[..., World]) -> None:
    world = make(rate_limit=3)
    pia, mal = open_signed_in_browser(world, world.pia), open_signed_in_browser(world, world.mal)
    assert [pia.send("GET").status_code for _ in range(4)] == [200, 200, 200, 429]
    assert mal.send("GET").status_code == 200


def test_the_listener_rejects_a_large_body_before_it_is_sent(world: World, browser: WebhookBrowser) -> None:
    """The headers decide: 401 without a session, 403 without a CSRF token, otherwise 413."""
    cookie = browser.http.get_cookie("docshare_session")
    assert cookie is not None
    signed = {"Cookie": f"docshare_session={cookie.value}"}
    cases: list[tuple[dict[str, str], int]] = [({}, 401), (signed, 403), (signed | {"X-CSRF-Token": browser.csrf}, 413)]
    with open_listener(world) as client:
        for headers, status in cases:
            length = {"Content-Length": str(50 << 20), "Content-Type": "application/json"}
            lines = [f"{name}: {value}" for name, value in {"Host": "x", **length, **headers}.items()]
            reply = client.send("\r\n".join([f"POST {SESSION_PATH} HTTP/1.1", *lines, "", ""]).encode())
            assert reply.status == status
