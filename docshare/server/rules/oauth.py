"""The OAuth rules: redirect URIs, user codes, and the state of a refresh token. Pure.

Redirect URIs match exactly, except that the port of a loopback address may differ (RFC 8252).
"""

import ipaddress
import re
from collections.abc import Iterable
from enum import Enum
from urllib.parse import SplitResult, urlsplit

from docshare.contract.limits import REFRESH_GRACE_MS, URL_CHARS
from docshare.contract.problems import Problem

MAX_REDIRECT_URIS = 10
MAX_CLIENT_NAME_CHARS = 100
USER_CODE_BYTES = 16  # random bytes for one user code
# RFC 8628, 6.1: no vowels, so no words; no digits, which are mistaken for letters. 20 ** 8 codes.
_USER_CODE_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
_USER_CODE_CHARS = 8

# RFC 8252, 7.1: a private-use scheme is a domain name of the app's maker in reverse order.
_PRIVATE_SCHEME = re.compile(r"[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+")
# The consent page puts the host into a security policy, where other characters have a meaning.
_HOST = re.compile(r"[\w.:\[\]-]*", re.ASCII)


class RefreshTokenState(Enum):
    """The state of a refresh token."""

    VALID = "it is exchanged for new tokens"
    IN_GRACE = "somebody exchanged it just now, which happens when one client refreshes twice at once"
    REUSED = "it was exchanged long ago, so it was copied"


def refresh_token_state(rotated_at: int | None, now: int) -> RefreshTokenState:
    """Return the state of a refresh token that was exchanged at ``rotated_at`` (ms; None: never)."""
    if rotated_at is None:
        return RefreshTokenState.VALID
    return RefreshTokenState.IN_GRACE if now - rotated_at <= REFRESH_GRACE_MS else RefreshTokenState.REUSED


def is_registered_redirect(registered: Iterable[str], asked: str) -> bool:
    """Return whether ``asked`` is one of the ``registered`` redirect URIs, or a loopback address that differs
    only in its port. ``localhost`` is a name that may resolve to another machine, so it must match exactly."""
    return any(asked == one or _is_same_except_port(one, asked) for one in registered)


def _is_same_except_port(registered: str, asked: str) -> bool:
    one, other = _split_url(registered), _split_url(asked)
    if one is None or other is None or not (_is_loopback(one) and _is_loopback(other)):
        return False
    return _strip_port(one) == _strip_port(other)


def _split_url(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises if it is not a port
    except ValueError:
        return None
    return parts if url.isascii() and url.isprintable() and not {" ", "\\"} & set(url) else None


def _is_loopback(parts: SplitResult) -> bool:
    if parts.scheme != "http" or "@" in parts.netloc:
        return False
    try:
        return ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False


def _strip_port(parts: SplitResult) -> tuple[str | None, ...]:
    return parts.scheme, parts.hostname, parts.path, parts.query, parts.fragment


def require_redirect_uris(uris: list[str]) -> list[str]:
    """Return the redirect URIs of a new client without duplicates. Raises ``bad_request``.

    Accepted are https on any host, http on this machine, and the private-use scheme of an app; without a fragment or
    a user name.
    """
    if not 1 <= len(uris) <= MAX_REDIRECT_URIS:
        raise Problem("bad_request", f"A client must have 1 to {MAX_REDIRECT_URIS} redirect URIs.")
    for uri in uris:
        parts = _split_url(uri)
        if parts is None or len(uri) > URL_CHARS or "#" in uri or not _HOST.fullmatch(parts.netloc):
            raise _redirect_problem(uri)
        web = parts.scheme == "https" and bool(parts.hostname)
        local = parts.scheme == "http" and (_is_loopback(parts) or parts.hostname == "localhost")
        if not (web or local or _PRIVATE_SCHEME.fullmatch(parts.scheme)):
            raise _redirect_problem(uri)
    return list(dict.fromkeys(uris))


def _redirect_problem(uri: str) -> Problem:
    hint = "Use https://..., http://127.0.0.1/... or an app's scheme such as com.example.app:/callback, without a '#'."
    return Problem("bad_request", f"'{uri[:200]}' is not an allowed redirect URI.", hint=hint)


def require_client_name(name: str) -> str:
    """Return the name of a client as the consent page shows it, trimmed. Raises ``bad_request``."""
    name = name.strip()
    if not 1 <= len(name) <= MAX_CLIENT_NAME_CHARS or not name.isprintable():
        raise Problem(
            "bad_request", f"The name of a client must be one line of 1 to {MAX_CLIENT_NAME_CHARS} characters."
        )
    return name


def format_user_code(random: bytes) -> str:
    """Return the user code of a device login, such as ``WDJB-MJHT``, from ``USER_CODE_BYTES`` random bytes."""
    number, letters = int.from_bytes(random), []
    for _ in range(_USER_CODE_CHARS):
        number, digit = divmod(number, len(_USER_CODE_LETTERS))
        letters.append(_USER_CODE_LETTERS[digit])
    return _group_letters("".join(letters))


def parse_user_code(typed: str) -> str | None:
    """Return the user code that somebody typed, in any case and with any separators, or None if it is not a code."""
    letters = re.sub(r"[^A-Za-z]", "", typed).upper()
    is_code = len(letters) == _USER_CODE_CHARS and set(letters) <= set(_USER_CODE_LETTERS)
    return _group_letters(letters) if is_code else None


def _group_letters(letters: str) -> str:
    return f"{letters[:4]}-{letters[4:]}"
