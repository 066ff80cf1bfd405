"""Where OAuth clients may be answered, and what a refresh token is worth."""

import pytest

from docshare.contract.problems import Problem
from docshare.contract.scopes import normalize_scopes
from docshare.server.rules.oauth import (
    RefreshTokenState,
    is_registered_redirect,
    refresh_token_state,
    require_client_name,
    require_redirect_uris,
)

APP = "https://app.example.com/cb"
LOOP = "http://127.0.0.1/callback"
LOOP6 = "http://[::1]/callback"


@pytest.mark.parametrize(
    ("registered", "asked"),
    [
        (APP, APP),
        (LOOP, LOOP),
        (LOOP, "http://127.0.0.1:1/callback"),
        (LOOP, "http://127.0.0.1:65535/callback"),
        ("http://127.0.0.1:8000/callback", "http://127.0.0.1:9000/callback"),
        (LOOP6, "http://[::1]:8000/callback"),
        ("com.example.app:/callback", "com.example.app:/callback"),
        ("http://localhost/callback", "http://localhost/callback"),
    ],
)
def test_it_fits(registered: str, asked: str) -> None:
    assert is_registered_redirect([registered], asked)
    assert is_registered_redirect(["https://other.example.com/", registered], asked)


@pytest.mark.parametrize(
    ("registered", "asked"),
    [
        (APP, APP + "/"),
        (APP, APP + "?"),
        (APP, APP + "#"),
        (APP, APP.upper()),
        (APP, "https://app.example.com:443/cb"),
        (APP, "https://app.example.com.evil.com/cb"),
        (LOOP, "http://127.0.0.1:8000/other"),
        (LOOP, "http://127.0.0.1:8000/callback?x"),
        (LOOP, "http://127.0.0.1:8000/callback#x"),
        (LOOP, "http://127.0.0.2:8000/callback"),
        (LOOP, "http://x@127.0.0.1:8000/callback"),
        (LOOP, "http://127.0.0.1:80000/callback"),
        (LOOP, "http://127.0.0.1:x/callback"),
        (LOOP, "http://127.1:8000/callback"),
        (LOOP, "http://0x7f000001:8000/callback"),
        (LOOP, "http://127.0.0.1\\@evil.com:8000/callback"),
        (LOOP, "https://127.0.0.1:8000/callback"),
        (LOOP, LOOP6),
        ("http://localhost/callback", "http://localhost:8000/callback"),
        ("http://app.example.com/callback", "http://app.example.com:8000/callback"),
        ("com.example.app:/callback", "com.example.app:/other"),
    ],
)
def test_it_does_not_fit(registered: str, asked: str) -> None:
    assert not is_registered_redirect([registered], asked)


def test_a_client_may_be_registered_with_these() -> None:
    uris = [APP, LOOP, LOOP6, "http://localhost:3000/cb", "com.example.app:/callback"]
    assert require_redirect_uris([*uris, APP]) == uris


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "/callback",
        "https:///cb",
        "http://app.example.com/cb",
        "https://app.example.com/cb#x",
        "https://app.example.com/cb#",
        "https://user@app.example.com/cb",
        "https://*.example.com/cb",
        "https://app.example.com;script-src/cb",
        "https://app.example.com,evil.example.com/cb",
        "com.example.app://a;b/cb",
        "https://app.example.com/é",
        "https://app.example.com/a b",
        "https://app.example.com/\n",
        "https://app.example.com:x/",
        "https://a.com/" + "x" * 2048,
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "myapp:/callback",
    ],
)
def test_a_client_may_not_be_registered_with_this(uri: str) -> None:
    with pytest.raises(Problem) as caught:
        require_redirect_uris([uri])
    assert caught.value.code == "bad_request"


@pytest.mark.parametrize("count", [0, 11])
def test_a_client_has_one_to_ten_redirects(count: int) -> None:
    with pytest.raises(Problem):
        require_redirect_uris([f"https://app.example.com/{n}" for n in range(count)])


@pytest.mark.parametrize("name", ["", "  ", "x" * 101, "two\nlines", "bell\x07"])
def test_a_name_that_no_consent_page_could_show(name: str) -> None:
    with pytest.raises(Problem):
        require_client_name(name)


def test_a_name_is_trimmed() -> None:
    assert require_client_name("  Sales  ") == "Sales"


@pytest.mark.parametrize(
    ("rotated_at", "now", "worth"),
    [
        (None, 0, RefreshTokenState.VALID),
        (1_000, 1_000, RefreshTokenState.IN_GRACE),
        (1_000, 11_000, RefreshTokenState.IN_GRACE),
        (1_000, 11_001, RefreshTokenState.REUSED),
    ],
)
def test_what_a_refresh_token_is_worth(rotated_at: int | None, now: int, worth: RefreshTokenState) -> None:
    assert refresh_token_state(rotated_at, now) is worth


@pytest.mark.parametrize(
    ("asked", "known"),
    [
        (None, None),
        ("", None),
        ("  ", None),
        ("files:read", "files:read"),
        ("profile files:read profile", "files:read profile"),
        ("files:read files:own", None),
        ("Files:read", None),
    ],
)
def test_the_scopes_that_are_known(asked: str | None, known: str | None) -> None:
    assert normalize_scopes(asked) == known
