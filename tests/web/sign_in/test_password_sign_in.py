"""Signing in by password: requirements, uniform errors, and rate limits."""

import threading
from collections.abc import Callable
from typing import Any

import argon2
import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from docshare.server.services.accounts import passwords as account_passwords
from docshare.server.services.links import share_passwords
from tests.support.engines.database import dump_database
from tests.support.owner.browser import sign_in_browser
from tests.support.owner.forms import submit_form
from tests.support.people.cast import BASE_URL, World

GOOD = "correct horse battery"
COOKIE = "docshare_session"
SIGN_IN_ERROR = "The email address or the password is incorrect."


def set_password(world: World, password: str = GOOD) -> FlaskClient:
    """Set a password for Pia and return her browser."""
    http = sign_in_browser(world, world.pia)
    assert submit_form(http, "/account/password", password=password).status_code == 303
    return http


@pytest.fixture
def pia(world: World) -> FlaskClient:
    return set_password(world)


@pytest.fixture
def cheap_passwords(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """Return a world in which Pia's password is ``GOOD`` and checking it is fast, since hundreds are tried."""
    return make_passwords_cheap(world, monkeypatch)


def make_passwords_cheap(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    with world.rt.db.write():
        world.rt.db.execute("UPDATE accounts SET password_hash = 'of pia' WHERE email = 'pia@example.com'")
    monkeypatch.setattr(share_passwords, "is_match", lambda stored, password: (stored, password) == ("of pia", GOOD))
    return world


def post_sign_in(
    world: World,
    email: str = "pia@example.com",
    password: str = GOOD,
    *,
    address: str = "198.51.100.4",
    http: FlaskClient | None = None,
    **headers: str,
) -> TestResponse:
    return (http or world.app.test_client()).post(
        "/login", data={"email": email, "password": password}, headers=headers, environ_base={"REMOTE_ADDR": address}
    )


def has_session_cookie(answer: TestResponse) -> bool:
    return any(value.startswith(f"{COOKIE}=") for value in answer.headers.getlist("Set-Cookie"))


def make_addresses(count: int) -> list[str]:
    return [f"198.51.{number // 250}.{number % 250 + 1}" for number in range(count)]


# --- signing in ------------------------------------------------------------------------------------------------------


def test_the_page_has_a_password_form_and_explains_sign_in_links(world: World) -> None:
    text = world.http.get("/login").text
    assert 'action="/login"' in text
    assert 'autocomplete="username"' in text
    assert 'autocomplete="current-password"' in text
    assert "docshare admin login-link" in text
    assert "docshare dashboard" in text


@pytest.mark.usefixtures("pia")
@pytest.mark.parametrize("email", ["pia@example.com", " PIA@example.com "])
def test_a_user_with_a_password_can_sign_in(world: World, email: str) -> None:
    http = world.app.test_client()
    answer = post_sign_in(world, email, http=http)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/files")
    (cookie,) = answer.headers.getlist("Set-Cookie")
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(cookie.split("; "))
    assert "pia@example.com" in http.get("/login").text


@pytest.mark.usefixtures("pia")
def test_signing_in_redirects_to_the_requested_page(world: World) -> None:
    http = world.app.test_client()
    assert http.get("/webhooks").status_code == 403
    assert post_sign_in(world, http=http).headers["Location"] == "/webhooks"
    assert http.get("/webhooks").status_code == 200


@pytest.mark.usefixtures("pia")
def test_each_sign_in_creates_a_new_session(world: World) -> None:
    http = world.app.test_client()
    http.set_cookie(COOKIE, "planted")
    post_sign_in(world, http=http)
    first = http.get_cookie(COOKIE)
    post_sign_in(world, http=http)
    second = http.get_cookie(COOKIE)
    assert first is not None
    assert second is not None
    assert len({"planted", first.value, second.value}) == 3


@pytest.mark.usefixtures("pia")
@pytest.mark.parametrize(
    "headers",
    [{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.example"},
     {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site", "Origin": BASE_URL}],
)  # fmt: skip
def test_a_cross_site_sign_in_is_rejected(world: World, headers: dict[str, str]) -> None:
    answer = post_sign_in(world, **headers)
    assert answer.status_code == 403
    assert "Set-Cookie" not in answer.headers


def test_only_the_hash_is_stored_and_nothing_is_logged(
    world: World, pia: FlaskClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    post_sign_in(world)
    post_sign_in(world, password="another one that is wrong")
    dump = "\n".join(dump_database(world))
    assert "$argon2id$" in dump
    assert GOOD not in dump + caplog.text + pia.get("/account").text
    assert "another one" not in dump + caplog.text


# --- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("pia")
def test_unknown_address_and_wrong_or_missing_password_get_the_same_response(world: World) -> None:
    """Fay has no password, and nobody@example.com has no account."""
    answers = [
        post_sign_in(world, email, password, address=f"203.0.113.{number}")
        for number, (email, password) in enumerate(
            [("pia@example.com", "wrong, but long"), ("fay@example.com", GOOD), ("nobody@example.com", GOOD),
             ("fay@example.com", ""), ("nobody@example.com", "")]
        )
    ]  # fmt: skip
    pages = {answer.text.replace(email, "") for answer in answers for email in _list_typed_emails(answer)}
    assert [answer.status_code for answer in answers] == [403] * 5
    assert len(pages) == 1
    assert SIGN_IN_ERROR in pages.pop()
    assert len({tuple(name for name, _ in answer.headers) for answer in answers}) == 1


def _list_typed_emails(answer: TestResponse) -> list[str]:
    return [answer.text.split('maxlength="254" value="')[1].split('"')[0]]


def test_a_rejected_form_preserves_the_address_but_not_the_password(world: World) -> None:
    text = post_sign_in(world, '"><b>x', "secret words here").text
    assert 'value="&#34;&gt;&lt;b&gt;x"' in text
    assert "secret words here" not in text


@pytest.mark.usefixtures("pia")
@pytest.mark.parametrize("sent", [GOOD + " ", GOOD.upper(), GOOD + "\0", "x" * 200_000, "é", "", "\udcff"])
def test_only_the_exact_password_is_accepted(world: World, sent: str) -> None:
    body = b"email=pia@example.com&password=" + b"".join(
        b"%%%02x" % byte for byte in sent.encode("utf-8", "surrogatepass")
    )
    answer = world.http.post("/login", data=body, content_type="application/x-www-form-urlencoded")
    assert (answer.status_code, SIGN_IN_ERROR in answer.text, has_session_cookie(answer)) == (403, True, False)


@pytest.mark.usefixtures("pia")
@pytest.mark.parametrize("email", ["", "pia@example.com\0", "%", "pia@example.co_", "x" * 5_000, "' OR 1=1 --"])
def test_an_invalid_address_cannot_sign_in(world: World, email: str) -> None:
    assert post_sign_in(world, email).status_code == 403


def test_the_dummy_hash_costs_as_much_as_a_real_one() -> None:
    """The parameters determine the cost."""
    stored = account_passwords._DUMMY_HASH
    assert stored.split("$")[1:4] == ["argon2id", "v=19", "m=19456,t=2,p=1"]
    assert not share_passwords.is_match(stored, "")


@pytest.mark.usefixtures("pia")
@pytest.mark.parametrize("email", ["pia@example.com", "fay@example.com", "nobody@example.com"])
def test_known_and_unknown_addresses_cost_one_hash(world: World, monkeypatch: pytest.MonkeyPatch, email: str) -> None:
    """One hash is computed for accounts with a password, without one, and for unknown addresses."""
    parameters = []
    verify_secret_original = argon2.low_level.verify_secret

    def verify_and_record(stored: bytes, *rest: Any) -> bool:
        parameters.append(stored.decode().split("$")[1:4])
        return verify_secret_original(stored, *rest)

    monkeypatch.setattr("argon2._password_hasher.verify_secret", verify_and_record)
    assert post_sign_in(world, email, "wrong, but long").status_code == 403
    assert parameters == [["argon2id", "v=19", "m=19456,t=2,p=1"]]


# --- rate limits -----------------------------------------------------------------------------------------------------


def test_a_network_has_ten_wrong_passwords_per_15_minutes_over_all_accounts(cheap_passwords: World) -> None:
    statuses = []
    for number in range(12):
        statuses.append(post_sign_in(cheap_passwords, f"somebody{number}@example.com", "wrong").status_code)
        cheap_passwords.clock.advance(seconds=30)
    assert statuses == [403] * 10 + [429] * 2
    refused = post_sign_in(cheap_passwords)
    assert (refused.status_code, int(refused.headers["Retry-After"])) == (429, 540)
    assert "Try again in 9 minutes." in refused.text
    cheap_passwords.clock.advance(minutes=9)
    assert post_sign_in(cheap_passwords).status_code == 303


def test_many_networks_together_have_at_most_100_guesses_per_hour_and_account(cheap_passwords: World) -> None:
    tried, longest, begun = 0, 0, cheap_passwords.clock.now
    for address in make_addresses(1_000):
        answer = post_sign_in(cheap_passwords, password="wrong", address=address)
        tried += answer.status_code == 403
        if answer.status_code == 429:
            longest = max(longest, int(answer.headers["Retry-After"]))
            cheap_passwords.clock.advance(seconds=int(answer.headers["Retry-After"]))
        if cheap_passwords.clock.now - begun >= 3_600_000:
            break
    assert cheap_passwords.clock.now - begun >= 3_600_000
    assert 50 < tried <= 100
    assert longest < 95
    cheap_passwords.clock.advance(seconds=95)
    assert post_sign_in(cheap_passwords, address="203.0.113.7").status_code == 303


def test_unknown_accounts_have_the_same_rate_limit_as_known_ones(cheap_passwords: World) -> None:
    """Otherwise the rate limit would reveal which accounts exist."""
    for email in ("pia@example.com", "nobody@example.com"):
        statuses = [
            post_sign_in(cheap_passwords, email, "wrong", address=address).status_code for address in make_addresses(12)
        ]
        assert statuses == [403] * 10 + [429] * 2
        cheap_passwords.clock.advance(hours=1)


def test_wrong_passwords_are_counted_per_account(cheap_passwords: World) -> None:
    with cheap_passwords.rt.db.write():
        cheap_passwords.rt.db.execute("UPDATE accounts SET password_hash = 'of pia' WHERE email = 'bea@example.com'")
    for address in make_addresses(12):
        post_sign_in(cheap_passwords, password="wrong", address=address)
    assert post_sign_in(cheap_passwords, "bea@example.com", address="203.0.113.7").status_code == 303


def test_spellings_of_an_address_share_one_count(cheap_passwords: World) -> None:
    spelled = ["pia@example.com", "PIA@example.com", " pia@example.com", "Pia@Example.COM"] * 3
    statuses = [
        post_sign_in(cheap_passwords, email, "wrong", address=address).status_code
        for email, address in zip(spelled, make_addresses(12), strict=True)
    ]
    assert statuses == [403] * 10 + [429] * 2


@pytest.mark.parametrize("engine_name", ["", "postgresql"])
def test_signing_in_ignores_the_case_of_ascii_letters_only(
    make: Callable[..., World], monkeypatch: pytest.MonkeyPatch, engine_name: str
) -> None:
    monkeypatch.setenv("DOCSHARE_TEST_DATABASE", engine_name)
    world = make_passwords_cheap(make(), monkeypatch)
    with world.rt.db.write():
        world.rt.db.execute("UPDATE accounts SET email = 'Pía@example.com' WHERE email = 'pia@example.com'")
    same, different = ("Pía@example.com", "pía@EXAMPLE.com"), ("PÍA@example.com", "Pía\u200b@example.com")
    assert [post_sign_in(world, email).status_code for email in (*same, *different)] == [303, 303, 403, 403]


def test_correct_passwords_are_not_limited(cheap_passwords: World) -> None:
    assert {post_sign_in(cheap_passwords).status_code for _ in range(30)} == {303}


def test_sign_in_links_work_in_spite_of_the_rate_limit(cheap_passwords: World) -> None:
    for address in make_addresses(40):
        post_sign_in(cheap_passwords, password="wrong", address=address)
    assert post_sign_in(cheap_passwords, address="203.0.113.7").status_code == 429
    assert sign_in_browser(cheap_passwords, cheap_passwords.pia).get("/account").status_code == 200


def test_concurrent_guesses_are_limited(cheap_passwords: World) -> None:
    barrier = threading.Barrier(24)
    statuses: list[int] = []

    def send(number: int) -> None:
        barrier.wait(20)
        statuses.append(post_sign_in(cheap_passwords, f"somebody{number}@example.com", "wrong").status_code)

    threads = [threading.Thread(target=send, args=(number,)) for number in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(statuses) == [403] * 10 + [429] * 14


# --- changing the password -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("password", "expected"),
    [
        ("", "at least 10 characters"), ("123456789", "at least 10 characters"), ("x" * 10, "one repeated character"),
        ("a" * 120 + "é" * 5, "at most 128 bytes"), ("line one\nline two", "one line"), ("tab\tin words", "one line"),
        ("nul\0in the middle", "one line"), ("PIA@example.com", "other than your email address"),
    ],
)  # fmt: skip
def test_an_invalid_new_password_is_rejected_and_nothing_changes(world: World, password: str, expected: str) -> None:
    http, other = sign_in_browser(world, world.pia), sign_in_browser(world, world.pia)
    answer = submit_form(http, "/account/password", password=password)
    assert (answer.status_code, expected in answer.text) == (400, True)
    assert other.get("/account").status_code == 200
    assert post_sign_in(world, password=password).status_code == 403


@pytest.mark.parametrize(
    "password", ["ten chars!", "pässwörter sind lang", "x" * 127 + "y", "日本語のパスワードです。"]
)
def test_any_other_password_is_accepted(world: World, password: str) -> None:
    set_password(world, password)
    assert post_sign_in(world, password=password).status_code == 303


def test_changing_the_password_ends_other_sessions_and_invalidates_the_old_password(
    world: World, pia: FlaskClient
) -> None:
    other = world.app.test_client()
    post_sign_in(world, http=other)
    stranger = sign_in_browser(world, world.bea)
    assert submit_form(pia, "/account/password", password="another good password").status_code == 303
    assert pia.get("/account").status_code == 200
    assert other.get("/account").status_code == 403
    assert stranger.get("/account").status_code == 200
    assert post_sign_in(world).status_code == 403
    assert post_sign_in(world, password="another good password").status_code == 303


def test_removing_the_password_leaves_only_sign_in_links(world: World, pia: FlaskClient) -> None:
    other = world.app.test_client()
    post_sign_in(world, http=other)
    assert submit_form(pia, "/account/password/remove").status_code == 303
    assert other.get("/account").status_code == 403
    assert post_sign_in(world).status_code == 403
    assert "You sign in with links." in pia.get("/account").text


def test_a_password_changed_during_its_check_does_not_sign_in(
    world: World, pia: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = share_passwords.is_match

    def change_password_meanwhile(stored: str, password: str) -> bool:
        matches = real(stored, password)
        monkeypatch.setattr(share_passwords, "is_match", real)
        assert submit_form(pia, "/account/password", password="another good password").status_code == 303
        return matches

    monkeypatch.setattr(share_passwords, "is_match", change_password_meanwhile)
    answer: Any = post_sign_in(world)
    assert (answer.status_code, has_session_cookie(answer)) == (403, False)
