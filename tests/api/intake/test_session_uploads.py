"""Uploads from the pages of the owner: ``/api/account/files`` accepts only a signed-in browser."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from docshare.server.services.accounts.sign_in import SESSION_LIFETIME_MS
from tests.api.raw_client import ListenerResponse, RawClient, build_file_form, build_head
from tests.api.route_table import UNKNOWN_UUID
from tests.support.documents.images import make_picture
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.rows import count_rows
from tests.support.owner.browser import sign_in_browser
from tests.support.owner.forms import find_csrf_token
from tests.support.people.anonymous_files import share_anonymously
from tests.support.people.cast import BASE_URL, NO_CREDENTIAL, Person, World

Make = Callable[..., World]

FILES = "/api/account/files"
TAILS = ["", "/{uuid}/content", "/{uuid}/assets"]
MB = 1024 * 1024
TYPE = "multipart/form-data; boundary=edge"


@dataclass
class SignedInBrowser:
    """A browser with a signed-in session, and the CSRF token of its pages."""

    http: FlaskClient
    csrf: str

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers that a page of this server sends, for requests without a cookie jar."""
        cookie = self.http.get_cookie("docshare_session")
        assert cookie is not None
        return {"Cookie": f"docshare_session={cookie.value}", "X-CSRF-Token": self.csrf}

    def send(self, tail: str = "", content: bytes | None = None, **more: Any) -> TestResponse:
        """Send a form with a file and the CSRF token; ``headers`` override, and None removes a header."""
        headers = {"X-CSRF-Token": self.csrf} | more.pop("headers", {})
        given = {name: value for name, value in headers.items() if value is not None}
        return self.http.post(f"{FILES}{tail}", headers=given, data=build_form_data(tail, content), **more)


def build_form_data(tail: str, content: bytes | None = None) -> dict[str, Any]:
    """Build the form for a route."""
    if tail.endswith("/assets"):
        return {"file": (io.BytesIO(content or make_picture()), "logo.png"), "kind": "logo"}
    return {"file": (io.BytesIO(content or simple_pdf(pages=2)), "plan.pdf")}


def open_signed_in_browser(world: World, person: Person) -> SignedInBrowser:
    http = sign_in_browser(world, person)
    return SignedInBrowser(http, find_csrf_token(http.get("/login").text))


@pytest.fixture
def world(make: Make) -> World:
    return make(rate_limit=1_000)


@pytest.fixture
def browser(world: World) -> SignedInBrowser:
    return open_signed_in_browser(world, world.pia)


def list_files(person: Person) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = person.get("/api/v1/files").get_json()
    return found


def get_status_and_code(answer: TestResponse) -> tuple[int, str]:
    return answer.status_code, answer.get_json()["code"]


# --- uploads ---------------------------------------------------------------------------------------------------------


def test_a_page_uploads_a_document(world: World, browser: SignedInBrowser) -> None:
    answer = browser.send()
    assert answer.status_code == 200
    assert list(answer.get_json()) == ["uuid", "shortId", "shareUrl", "message"]
    (row,) = list_files(world.pia)
    assert (row["uuid"], row["originalName"], row["totalPages"]) == (answer.get_json()["uuid"], "plan.pdf", 2)


def test_a_page_replaces_content(world: World, browser: SignedInBrowser) -> None:
    made = world.pia.upload()
    answer = browser.send(f"/{made['uuid']}/content?clearAnchors=0")
    assert (answer.status_code, answer.get_json()["contentVersion"]) == (200, 2)
    assert answer.get_json()["anchorsCleared"] is False
    assert list_files(world.pia)[0]["totalPages"] == 2


def test_a_page_uploads_a_logo(world: World, browser: SignedInBrowser) -> None:
    made = world.pia.upload()
    answer = browser.send(f"/{made['uuid']}/assets")
    assert (answer.status_code, answer.get_json()["kind"]) == (200, "logo")
    assert count_rows(world, "assets") == 1


@pytest.mark.parametrize("tail", TAILS[1:])
def test_a_file_of_another_account_is_not_changed(world: World, browser: SignedInBrowser, tail: str) -> None:
    foreign = world.mal.upload()
    assert browser.send(tail.replace("{uuid}", foreign["uuid"])).status_code in (403, 404)
    for name in (UNKNOWN_UUID, "nonsense", "%00", "%ff", "a" * 3000):
        assert browser.send(tail.replace("{uuid}", name)).status_code == 404
    assert list_files(world.mal)[0]["contentVersion"] == 1
    assert count_rows(world, "assets") == 0


@pytest.mark.parametrize("tail", TAILS[1:])
def test_a_feature_above_the_plan_is_403_plan_required(world: World, tail: str) -> None:
    made = world.fay.upload()
    answer = open_signed_in_browser(world, world.fay).send(tail.replace("{uuid}", made["uuid"]))
    assert get_status_and_code(answer) == (403, "plan_required")


def test_the_file_limit_of_the_plan_applies(world: World) -> None:
    browser = open_signed_in_browser(world, world.fay)
    assert [browser.send().status_code for _ in range(4)] == [200, 200, 200, 403]
    assert len(list_files(world.fay)) == 3


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "application/x-www-form-urlencoded"])
def test_a_body_that_is_not_a_multipart_form_is_415(world: World, browser: SignedInBrowser, content_type: str) -> None:
    headers = {"X-CSRF-Token": browser.csrf}
    answer = browser.http.post(FILES, headers=headers, data=b"{}", content_type=content_type)
    assert get_status_and_code(answer) == (415, "unsupported_media_type")


# --- credentials -----------------------------------------------------------------------------------------------------


@pytest.fixture
def target(world: World) -> str:
    """Upload a file of Pia and return its id."""
    return str(world.pia.upload()["uuid"])


def is_unchanged(world: World) -> bool:
    """Return whether the target is unchanged and nothing else exists."""
    (row,) = list_files(world.pia)
    return row["contentVersion"] == 1 and count_rows(world, "assets") == 0 and list(world.rt.blobs.tmp.iterdir()) == []


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("cookie", [None, "", "nonsense"])
def test_a_request_without_a_valid_session_is_401(world: World, target: str, tail: str, cookie: str | None) -> None:
    if cookie is not None:
        world.http.set_cookie("docshare_session", cookie)
    answer = world.http.post(f"{FILES}{tail.replace('{uuid}', target)}", data=build_form_data(tail))
    assert get_status_and_code(answer) == (401, "unauthorized")
    assert answer.headers["WWW-Authenticate"] == NO_CREDENTIAL
    assert is_unchanged(world)


@pytest.mark.parametrize("tail", TAILS)
def test_an_api_key_is_401(world: World, target: str, tail: str) -> None:
    answer = world.pia.post(f"{FILES}{tail.replace('{uuid}', target)}", data=build_form_data(tail))
    assert get_status_and_code(answer) == (401, "unauthorized")
    assert is_unchanged(world)


@pytest.mark.parametrize("tail", TAILS)
def test_an_api_key_in_addition_to_a_session_cookie_is_401(
    world: World, browser: SignedInBrowser, target: str, tail: str
) -> None:
    answer = browser.send(tail.replace("{uuid}", target), headers=world.pia.headers)
    assert get_status_and_code(answer) == (401, "unauthorized")
    assert is_unchanged(world)


@pytest.mark.parametrize("tail", TAILS)
def test_manage_and_claim_tokens_are_401(world: World, tail: str) -> None:
    file = share_anonymously(world)
    path = f"{FILES}{tail.replace('{uuid}', file.uuid)}"
    for token in (file.manage_token, file.claim_token):
        answer = world.http.post(path, headers={"Authorization": f"Bearer {token}"}, data=build_form_data(tail))
        assert get_status_and_code(answer) == (401, "unauthorized")


@pytest.mark.parametrize("tail", TAILS)
def test_an_expired_session_is_401(world: World, browser: SignedInBrowser, target: str, tail: str) -> None:
    world.clock.advance(milliseconds=SESSION_LIFETIME_MS)
    assert get_status_and_code(browser.send(tail.replace("{uuid}", target))) == (401, "unauthorized")


# --- cross-site requests ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("token", [None, "", "nonsense", "\xff", "other session"])
def test_a_request_without_the_csrf_token_of_its_session_is_403(
    world: World, browser: SignedInBrowser, target: str, tail: str, token: str | None
) -> None:
    if token == "other session":
        token = open_signed_in_browser(world, world.pia).csrf
    answer = browser.send(tail.replace("{uuid}", target), headers={"X-CSRF-Token": token})
    assert get_status_and_code(answer) == (403, "forbidden")
    assert is_unchanged(world)


@pytest.mark.parametrize("tail", TAILS)
def test_a_csrf_token_in_a_form_field_is_403(world: World, browser: SignedInBrowser, target: str, tail: str) -> None:
    """Another site can make a browser send a form field, but not a header."""
    data = build_form_data(tail) | {"csrf": browser.csrf, "X-CSRF-Token": browser.csrf}
    answer = browser.http.post(f"{FILES}{tail.replace('{uuid}', target)}", data=data)
    assert get_status_and_code(answer) == (403, "forbidden")
    assert is_unchanged(world)


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "cross-site", "Origin": BASE_URL}, {"Sec-Fetch-Site": ""},
        {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Origin": f"{BASE_URL}.evil.example"},
    ],
)  # fmt: skip
def test_a_cross_site_request_is_403_even_with_a_csrf_token(
    world: World, browser: SignedInBrowser, target: str, tail: str, headers: dict[str, str]
) -> None:
    answer = browser.send(tail.replace("{uuid}", target), headers=headers)
    assert get_status_and_code(answer) == (403, "forbidden")
    assert is_unchanged(world)


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "same-origin"}, {"Origin": BASE_URL}])
def test_a_same_origin_request_is_accepted(browser: SignedInBrowser, headers: dict[str, str]) -> None:
    assert browser.send(headers=headers).status_code == 200


# --- before the body -------------------------------------------------------------------------------------------------


def send_upload_head(client: RawClient, tail: str, length: int, headers: dict[str, str]) -> ListenerResponse:
    """Send the head of an upload of ``length`` bytes and none of its body."""
    named = {"Content-Length": str(length), "Content-Type": TYPE, **headers}
    return client.send(build_head("POST", f"{FILES}{tail}", named))


def get_reply_status_and_code(reply: ListenerResponse) -> tuple[int, str]:
    return reply.status, reply.json()["code"]


@pytest.mark.parametrize("tail", TAILS)
def test_the_listener_rejects_invalid_requests_before_the_body(
    world: World, browser: SignedInBrowser, target: str, raw_client: RawClient, tail: str
) -> None:
    tail = tail.replace("{uuid}", target)
    cookie = {"Cookie": browser.headers["Cookie"]}
    for headers, expected in (
        ({}, (401, "unauthorized")),
        (world.pia.headers, (401, "unauthorized")),
        (browser.headers | world.pia.headers, (401, "unauthorized")),
        (cookie, (403, "forbidden")),
        (browser.headers | {"Sec-Fetch-Site": "cross-site"}, (403, "forbidden")),
        (browser.headers | {"Origin": "https://evil.example"}, (403, "forbidden")),
        (browser.headers | {"Content-Type": "application/json"}, (415, "unsupported_media_type")),
    ):
        assert get_reply_status_and_code(send_upload_head(raw_client, tail, 5 * MB, headers)) == expected, headers
    assert is_unchanged(world)


@pytest.mark.parametrize(("tail", "cap"), [("", 2048), ("/{uuid}/content", 2048), ("/{uuid}/assets", 10)])
def test_an_upload_above_the_limit_is_rejected_before_the_body(
    browser: SignedInBrowser, target: str, raw_client: RawClient, tail: str, cap: int
) -> None:
    reply = send_upload_head(raw_client, tail.replace("{uuid}", target), cap * MB + 768 * 1024 + 1, browser.headers)
    assert get_reply_status_and_code(reply) == (413, "payload_too_large")


def test_a_full_account_is_rejected_before_the_body(world: World, raw_client: RawClient) -> None:
    for _ in range(3):
        world.fay.upload()
    assert get_reply_status_and_code(
        send_upload_head(raw_client, "", MB, open_signed_in_browser(world, world.fay).headers)
    ) == (
        403,
        "forbidden",
    )


def test_a_foreign_file_is_rejected_before_the_body(
    world: World, browser: SignedInBrowser, raw_client: RawClient
) -> None:
    foreign = world.mal.upload()["uuid"]
    assert send_upload_head(raw_client, f"/{foreign}/content", MB, browser.headers).status == 403
    assert send_upload_head(raw_client, f"/{foreign}/assets", MB, browser.headers).status == 404


def test_an_upload_at_the_listener_is_stored_and_counted_once(
    world: World, browser: SignedInBrowser, raw_client: RawClient
) -> None:
    content = simple_pdf(pages=2)
    reply = raw_client.request("POST", FILES, {"Content-Type": TYPE, **browser.headers}, build_file_form(content))
    assert (reply.status, reply.headers["x-ratelimit-remaining"]) == (200, "999")
    uuid = reply.json()["uuid"]
    assert world.pia.get(f"/api/v1/files/{uuid}/content", buffered=True).data == content
