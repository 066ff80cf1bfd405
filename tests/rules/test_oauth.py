"""Redirect URIs, names and scopes of OAuth clients, and the states of refresh tokens."""

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
    ("registered", "requested"),
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
def test_a_registered_redirect_matches(registered: str, requested: str) -> None:
    assert is_registered_redirect([registered], requested)
    assert is_registered_redirect(["https://other.example.com/", registered], requested)


@pytest.mark.parametrize(
    ("registered", "requested"),
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
def test_an_unregistered_redirect_does_not_match(registered: str, requested: str) -> None:
    assert not is_registered_redirect([registered], requested)


def test_valid_redirect_uris_are_accepted() -> None:
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
def test_an_invalid_redirect_uri_is_rejected(uri: str) -> None:
    with pytest.raises(Problem) as caught:
        require_redirect_uris([uri])
    assert caught.value.code == "bad_request"


@pytest.mark.parametrize("count", [0, 11])
def test_a_client_has_one_to_ten_redirect_uris(count: int) -> None:
    with pytest.raises(Problem):
        require_redirect_uris([f"https://app.example.com/{n}" for n in range(count)])


@pytest.mark.parametrize("name", ["", "  ", "x" * 101, "two\nlines", "bell\x07"])
def test_an_invalid_client_name_is_rejected(name: str) -> None:
    with pytest.raises(Problem):
        require_client_name(name)


def test_a_client_name_is_trimmed() -> None:
    assert require_client_name("  Sales  ") == "Sales"


@pytest.mark.parametrize(
    ("rotated_at", "now", "expected"),
    [
        (None, 0, RefreshTokenState.VALID),
        (1_000, 1_000, RefreshTokenState.IN_GRACE),
        (1_000, 11_000, RefreshTokenState.IN_GRACE),
        (1_000, 11_001, RefreshTokenState.REUSED),
    ],
)
def test_an_exchanged_refresh_token_is_in_grace_for_ten_seconds(
    rotated_at: int | None, now: int, expected: RefreshTokenState
) -> None:
    assert refresh_token_state(rotated_at, now) is expected


@pytest.mark.parametrize(
    ("requested", "normalized"),
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
def test_scopes_are_normalized(requested: str | None, normalized: str | None) -> None:
    assert normalize_scopes(requested) == normalized
