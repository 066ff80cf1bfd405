"""The view token: only signed tokens are accepted."""

import base64

import pytest

from docshare.server.rules.view_token import MAX_TOKEN_CHARS, PageLoad, sign_token, verify_token

SECRET = b"s" * 32
PAGE_LOAD = PageLoad("aB3dE5fG7hJ9", 3, 1_790_000_000_000, "n" * 20, 4, 7, "QR code", "standard", "example.com", True)
TOKEN = sign_token(SECRET, PAGE_LOAD)
PAYLOAD, _, SIGNATURE = TOKEN.partition(".")


def test_a_signed_token_is_verified() -> None:
    assert verify_token(SECRET, TOKEN) == PAGE_LOAD


def test_a_token_with_the_longest_referrer_is_verified() -> None:
    page_load = PageLoad(
        "a" * 36, 10**6, 1_790_000_000_000, "n" * 20, 49_999, 50_000, "Direct link", "magazine", "x" * 253
    )
    assert verify_token(SECRET, sign_token(SECRET, page_load)) == page_load


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        PAYLOAD,
        f"{PAYLOAD}.",
        f".{SIGNATURE}",
        f"{PAYLOAD}.{SIGNATURE}x",
        f"{PAYLOAD}.{SIGNATURE[:-1]}",
        f"{PAYLOAD}A.{SIGNATURE}",
        f"{base64.urlsafe_b64encode(b'[]').decode()}.{SIGNATURE}",
        f"{PAYLOAD}.{SIGNATURE}".swapcase(),
        "é" * 10,
        "\ud800",
        "a" * (MAX_TOKEN_CHARS + 1),
        sign_token(b"t" * 32, PAGE_LOAD),
    ],
)
def test_an_invalid_token_is_rejected(token: str) -> None:
    assert verify_token(SECRET, token) is None
