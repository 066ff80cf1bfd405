"""Signing in by one-time link, the session cookie, and protection against other sites."""

from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from docshare.server.services.accounts import sign_in
from tests.support.engines.database import dump_database
from tests.support.people.cast import BASE_URL, World

COOKIE = "docshare_session"


def create_link_path(world: World, email: str = "pia@example.com") -> str:
    """Create a sign-in link and return its path."""
    url = sign_in.create_link(world.rt, email)
    assert url.startswith(f"{BASE_URL}/login/")
    return url.removeprefix(BASE_URL)


def get_page(http: FlaskClient, path: str = "/login") -> str:
    return http.get(path).get_data(as_text=True)


def sign_in_by_link(world: World) -> FlaskClient:
    http = world.app.test_client()
    assert http.post(create_link_path(world)).status_code == 303
    return http


def read_csrf_token(http: FlaskClient) -> str:
    return get_page(http).split('name="csrf" value="')[1].split('"')[0]


def test_the_link_shows_one_button_that_signs_in(world: World) -> None:
    path = create_link_path(world)
    shown = get_page(world.http, path)
    assert shown.count("<button") == 1
    assert "pia@example.com" in shown
    answer = world.http.post(path)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/files")
    assert "You are signed in" in get_page(world.http)
    assert "pia@example.com" in get_page(world.http)


@pytest.mark.parametrize("method", ["get", "head"])
def test_opening_the_link_changes_nothing(world: World, method: str) -> None:
    path = create_link_path(world)
    before = dump_database(world)
    for _ in range(3):
        assert getattr(world.http, method)(path).status_code == 200
    assert dump_database(world) == before
    assert world.http.post(path).status_code == 303


def test_a_link_works_once(world: World) -> None:
    path = create_link_path(world)
    assert world.http.post(path).status_code == 303
    stranger = world.app.test_client()
    assert stranger.get(path).status_code == 410
    assert stranger.post(path).status_code == 410
    assert 'name="password"' in get_page(stranger)


@pytest.mark.parametrize(("minutes", "status"), [(9.99, 303), (10, 410)])
def test_a_link_expires_after_ten_minutes(world: World, minutes: float, status: int) -> None:
    path = create_link_path(world)
    world.clock.advance(minutes=minutes)
    assert world.http.post(path).status_code == status


@pytest.mark.parametrize("token", ["x", "a" * 40, "%00", "%FF", "../login", "é" * 50])
def test_an_unknown_link_cannot_sign_in(world: World, token: str) -> None:
    assert world.http.post(f"/login/{token}").status_code in (404, 405, 410)
    assert world.rt.db.fetch_all("SELECT * FROM web_sessions") == []


def test_a_link_for_an_unknown_account_cannot_be_created(world: World) -> None:
    with pytest.raises(Exception, match="no account"):
        sign_in.create_link(world.rt, "nobody@example.com")


def test_two_links_of_one_account_are_independent(world: World) -> None:
    first, second = create_link_path(world), create_link_path(world)
    assert world.http.post(first).status_code == 303
    assert world.app.test_client().post(second).status_code == 303


def test_the_cookie_is_http_only_and_same_site_lax(world: World) -> None:
    (cookie,) = world.http.post(create_link_path(world)).headers.getlist("Set-Cookie")
    name, *attributes = cookie.split("; ")
    assert name.startswith(f"{COOKIE}=")
    assert {"HttpOnly", "SameSite=Lax", "Path=/", f"Max-Age={30 * 24 * 3600}"} <= set(attributes)
    assert "Secure" not in attributes
    assert not [attribute for attribute in attributes if attribute.startswith("Domain")]


def test_over_https_the_cookie_is_secure_and_host_only(make: Any) -> None:
    world = make(base_url="https://docs.example.com")
    path = sign_in.create_link(world.rt, "pia@example.com").removeprefix("https://docs.example.com")
    answer = world.http.post(path, base_url="https://docs.example.com")
    (cookie,) = answer.headers.getlist("Set-Cookie")
    name, *attributes = cookie.split("; ")
    assert name.startswith("__Host-docshare_session=")
    assert {"Secure", "HttpOnly", "SameSite=Lax", "Path=/"} <= set(attributes)


def test_neither_link_nor_cookie_is_stored(world: World) -> None:
    path = create_link_path(world)
    cookie = world.http.post(path).headers["Set-Cookie"].split("=")[1].split(";")[0]
    whole = "\n".join(dump_database(world))
    assert path.removeprefix("/login/") not in whole
    assert cookie not in whole


def test_a_session_expires_after_30_days(world: World) -> None:
    http = sign_in_by_link(world)
    world.clock.advance(days=29.99)
    assert "You are signed in" in get_page(http)
    world.clock.advance(days=0.01)
    assert 'name="password"' in get_page(http)


def test_signing_out_ends_the_session_and_its_cookie(world: World) -> None:
    http = sign_in_by_link(world)
    cookie = http.get_cookie(COOKIE)
    assert cookie is not None
    answer = http.post("/logout", data={"csrf": read_csrf_token(http)})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/login")
    assert http.get_cookie(COOKIE) is None
    http.set_cookie(COOKIE, cookie.value)
    assert 'name="password"' in get_page(http)


def test_signing_out_without_a_session_is_harmless(world: World) -> None:
    assert world.http.post("/logout").status_code == 303


@pytest.mark.parametrize("token", [None, "", "wrong", "é"])
def test_signing_out_requires_the_csrf_token(world: World, token: str | None) -> None:
    http = sign_in_by_link(world)
    assert http.post("/logout", data={} if token is None else {"csrf": token}).status_code == 403
    assert "You are signed in" in get_page(http)


def test_the_csrf_token_of_another_session_is_rejected(world: World) -> None:
    http, other = sign_in_by_link(world), sign_in_by_link(world)
    assert http.post("/logout", data={"csrf": read_csrf_token(other)}).status_code == 403
    assert "You are signed in" in get_page(http)


FOREIGN_HEADERS = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},
    {"Sec-Fetch-Site": "cross-site", "Origin": BASE_URL},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": f"{BASE_URL}.evil.example"},
    {"Origin": f"{BASE_URL}0"},
    {"Origin": ""},
]
SAME_SITE_HEADERS = [
    {"Sec-Fetch-Site": "same-origin"},
    {"Origin": BASE_URL},
    {"Sec-Fetch-Site": "same-origin", "Origin": "null"},
    {},
]


@pytest.mark.parametrize("headers", FOREIGN_HEADERS)
def test_cross_site_sign_in_and_sign_out_are_rejected(world: World, headers: dict[str, str]) -> None:
    path = create_link_path(world)
    assert world.http.post(path, headers=headers).status_code == 403
    assert "Set-Cookie" not in world.http.post(path, headers=headers).headers
    http = sign_in_by_link(world)
    assert http.post("/logout", data={"csrf": read_csrf_token(http)}, headers=headers).status_code == 403
    assert "You are signed in" in get_page(http)
    assert world.http.post(path).status_code == 303


@pytest.mark.parametrize("headers", SAME_SITE_HEADERS)
def test_same_origin_sign_in_and_sign_out_are_accepted(world: World, headers: dict[str, str]) -> None:
    http = world.app.test_client()
    assert http.post(create_link_path(world), headers=headers).status_code == 303
    assert http.post("/logout", data={"csrf": read_csrf_token(http)}, headers=headers).status_code == 303


@pytest.mark.parametrize("query", ["?next=//evil.example", "?next=https://evil.example", "?next=%0d%0aX:1"])
def test_signing_in_ignores_the_next_parameter(world: World, query: str) -> None:
    assert world.http.post(create_link_path(world) + query).headers["Location"] == "/files"


@pytest.mark.parametrize("path", ["/login", "/login/used-up"])
def test_sign_in_pages_are_not_framed_cached_or_sent_as_a_referrer(world: World, path: str) -> None:
    headers = world.http.get(path).headers
    assert headers["Referrer-Policy"] == "same-origin"
    assert "no-store" in headers["Cache-Control"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "form-action 'self'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Frame-Options"] == "DENY"


def test_a_deleted_account_is_signed_out(world: World) -> None:
    http = sign_in_by_link(world)
    with world.rt.db.write():
        world.rt.db.execute("DELETE FROM accounts WHERE email = 'pia@example.com'")
    assert 'name="password"' in get_page(http)


def test_an_invalid_cookie_is_signed_out(world: World) -> None:
    for value in ("x", "x" * 3_000, "é"):
        answer: TestResponse = world.http.get("/login", headers={"Cookie": f"{COOKIE}={value}"})
        assert answer.status_code == 200
        assert 'name="password"' in answer.get_data(as_text=True)
