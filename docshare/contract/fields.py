"""Strict parsers of single fields, which the other tables use.

A parser takes the name of the field and its value from ``json.loads``, and returns the value to store or raises
``Problem('bad_request')`` whose detail names the field. Parsers check types first, never recurse into unknown values,
and accept only ASCII digits and letters, so no input makes them raise anything else.
"""

import math
import re
from collections.abc import Callable
from typing import Any, TypeGuard, TypeVar

from docshare.contract import limits, wire
from docshare.contract.patterns import SHORT_ID, SLUG, SLUG_CHARS, UUID, Pattern
from docshare.contract.problems import Problem

T = TypeVar("T")
Parser = Callable[[str, object], T]

_CONTROL = Pattern("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_COLOR = Pattern("#[0-9A-Fa-f]{6}")
_MEASUREMENT_ID = Pattern("G-[A-Z0-9]{10}")
_GATE_KEY = Pattern(f"[a-z][a-z0-9_]{{0,{limits.GATE_KEY_CHARS - 1}}}")
# Letters of every script, but no character or encoded word that could end an address or a line, because addresses are
# written into mails and pages.
_EMAIL = Pattern(
    r"(?!.*=\?)[^@\s\"'(),:;<>\[\\\]\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,64}"
    r"@(?:[\w-]{1,63}\.)*[\w-]{1,63}"
)
_EMAIL_CHARS = 254
_DOMAIN = Pattern(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+")
# The pattern matches the whole authority, so that it cannot contain userinfo, a backslash, or an ambiguous host.
_WEB_URL = Pattern(
    r"https?://(?:[a-z0-9][a-z0-9._-]*|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?(?:[/?#][!#-;=?-\[\]^_a-z{|}~]*)?",
    re.IGNORECASE | re.ASCII,
)

RESERVED_SLUGS = frozenset(
    {
        ".well-known",
        "_admin",
        "account",
        "api",
        "dashboard",
        "device",
        "docs",
        "embed",
        "favicon.ico",
        "files",
        "healthz",
        "login",
        "logout",
        "metrics",
        "notices",
        "oauth",
        "oembed",
        "problems",
        "readership",
        "robots.txt",
        "static",
        "trash",
        "webhooks",
    }
)
"""First path segments of the server's own routes; a slug cannot be one of them."""

GATE_TYPES = ("text", "email", "phone", "company")


def field_problem(name: str, rule: str, hint: str | None = None) -> Problem:
    """Return the problem of a field ``name`` that violates ``rule`` (what it must be, without a period)."""
    return Problem("bad_request", f"{name} must be {rule}.", hint=hint, field=name)


def is_integer(value: object) -> TypeGuard[int]:
    """Return whether ``value`` is a JSON integer (in Python ``True`` is an ``int``; in JSON it is not)."""
    return isinstance(value, int) and not isinstance(value, bool)


def parse_boolean(name: str, value: object) -> bool:
    """Return a JSON boolean; reject 0, 1, and strings."""
    if not isinstance(value, bool):
        raise field_problem(name, "true or false")
    return value


def integer_parser(low: int, high: int) -> Parser[int]:
    """Return a parser of JSON integers from ``low`` to ``high`` (inclusive)."""

    def parse(name: str, value: object) -> int:
        if not is_integer(value) or not low <= value <= high:
            raise field_problem(name, f"an integer from {low} to {high}")
        return value

    return parse


def parse_number(name: str, value: object, low: float, high: float) -> float:
    """Return a JSON number from ``low`` to ``high`` (inclusive)."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise field_problem(name, f"a number from {low} to {high}")
    return value


def clamp(value: object, low: float, high: float) -> float | None:
    """Return ``value`` limited to the range from ``low`` to ``high``; None if it is not a finite number.

    If both bounds are integers, the result is rounded to an integer.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not _is_finite(value):
        return None
    nearest = min(max(value, low), high)
    return round(nearest) if isinstance(low, int) and isinstance(high, int) else nearest


def _is_finite(value: float) -> bool:
    # math.isfinite converts an integer to a float first, which overflows for huge integers.
    return isinstance(value, int) or math.isfinite(value)


def text_parser(low: int, high: int) -> Parser[str]:
    """Return a parser of one trimmed line of ``low`` to ``high`` code points without control characters."""

    def parse(name: str, value: object) -> str:
        trimmed = _require_string(name, value).strip()
        if not low <= len(trimmed) <= high:
            raise field_problem(name, f"a string of {low} to {high} characters")
        if _CONTROL.search(trimmed):
            raise field_problem(name, "a string without control characters")
        return trimmed

    return parse


def parse_email(name: str, value: object) -> str:
    """Return a trimmed email address: a local part of up to 64 characters without spaces, quotes, brackets, commas or
    similar characters, ``@``, and a domain. It is safe in mail headers without escaping."""
    trimmed = _require_string(name, value).strip()
    if len(trimmed) > _EMAIL_CHARS or not _EMAIL.fullmatch(trimmed):
        raise field_problem(name, "an email address such as ada@example.com")
    return trimmed


def word_parser(*words: str) -> Parser[str]:
    """Return a parser that accepts one of ``words``."""

    def parse(name: str, value: object) -> str:
        if not isinstance(value, str) or value not in words:
            raise field_problem(name, "one of " + ", ".join(words))
        return value

    return parse


def parse_instant(name: str, value: object) -> int:
    """Return an RFC 3339 datetime with any offset and fraction as milliseconds since 1970 (UTC)."""
    millis = wire.parse_instant(value) if isinstance(value, str) else None
    if millis is None:
        raise field_problem(name, "an ISO 8601 datetime with a time zone, such as 2030-01-31T18:00:00Z")
    return millis


def parse_color(name: str, value: object) -> str:
    """Return a color ``#RRGGBB`` in its original case."""
    return _require_match(_COLOR, name, value, "a color of the form #RRGGBB")


def parse_measurement_id(name: str, value: object) -> str:
    """Return a Google Analytics measurement id of the form ``G-XXXXXXXXXX``."""
    return _require_match(_MEASUREMENT_ID, name, value, "a measurement id of the form G-XXXXXXXXXX")


def parse_https_url(name: str, value: object, most: int = limits.URL_CHARS) -> str:
    """Return an ``https://`` address of at most ``most`` printable ASCII characters without userinfo, unchanged.

    The host is not checked here; ``docshare.server.rules.webhook_url`` does that.
    """
    url = _require_string(name, value)
    if not url.lower().startswith("https:") or not _is_web_url(url, most):
        rule = "an https:// address without user name, spaces, or unescaped characters"
        raise field_problem(name, f"{rule}, at most {most} characters")
    return url


def parse_web_url(name: str, value: object, most: int = limits.URL_CHARS) -> str:
    """Return an ``http://`` or ``https://`` address; otherwise like ``parse_https_url``."""
    url = _require_string(name, value)
    if not _is_web_url(url, most):
        rule = "an http:// or https:// address without user name, spaces, or unescaped characters"
        raise field_problem(name, f"{rule}, at most {most} characters")
    return url


def _is_web_url(url: str, most: int) -> bool:
    match = _WEB_URL.fullmatch(url) if len(url) <= most else None
    return match is not None and 1 <= int(match[1] or 443) <= 65535


def parse_slug(name: str, value: object) -> str:
    """Return a slug, or ``""``, which clears it. Reject route names and UUIDs, which have a meaning as first segment.

    Whether another file uses the slug (409) is checked by the service, which knows the files.
    """
    if value == "":
        return ""
    found = _require_match(SLUG, name, value, f"1 to {SLUG_CHARS} lowercase letters, digits, or hyphens")
    if is_uuid(found) or found in RESERVED_SLUGS:
        raise field_problem(name, f"a different word: '{found}' is reserved in addresses of this server")
    return found


def parse_password(name: str, value: object) -> str:
    """Return a share password, untrimmed: 1 to 128 bytes of UTF-8 without CR, LF, TAB, and NUL; ``""`` clears it."""
    secret = _require_string(name, value)
    try:
        size = len(secret.encode())
    except UnicodeEncodeError:
        size = limits.PASSWORD_BYTES + 1
    if size > limits.PASSWORD_BYTES or any(mark in secret for mark in "\r\n\t\0"):
        raise field_problem(
            name, f"1 to {limits.PASSWORD_BYTES} bytes without line breaks, tabs, and NUL, or empty to clear"
        )
    return secret


def is_uuid(value: object) -> bool:
    """Return whether ``value`` is the text of a UUID, in either case."""
    return isinstance(value, str) and UUID.fullmatch(value) is not None


def is_short_id(value: object) -> bool:
    """Return whether ``value`` has the shape of a short id: 12 case-sensitive characters of base62."""
    return isinstance(value, str) and SHORT_ID.fullmatch(value) is not None


def parse_uuid(name: str, value: object) -> str:
    """Return a UUID (accepted in either case) in lower case."""
    return _require_match(UUID, name, value, "a UUID").lower()


parse_asset_id = parse_uuid
"""The ``assetId`` of an uploaded asset. Whether it belongs to the file is checked by the service."""


def parse_page_range(name: str, value: object) -> dict[str, int]:
    """Return ``{"from", "to"}`` with ``1 <= from <= to``, or both 0. The service checks ``to`` against the file."""
    rule = "an object {from, to} of integers with 1 <= from <= to, or {from: 0, to: 0}"
    if not isinstance(value, dict):
        raise field_problem(name, rule)
    first, last = value.get("from"), value.get("to")
    if not is_integer(first) or not is_integer(last):
        raise field_problem(name, rule)
    if not first == last == 0 and not 1 <= first <= last <= limits.PAGES_PER_FILE:
        raise field_problem(name, rule)
    return {"from": first, "to": last}


def parse_domains(name: str, value: object) -> list[str]:
    """Return up to 20 distinct host names with a dot, in lower case; an empty list clears them."""
    if not isinstance(value, list) or len(value) > limits.GATE_DOMAINS:
        raise field_problem(name, f"a list of up to {limits.GATE_DOMAINS} domains")
    return list(dict.fromkeys(_parse_domain(f"{name}[{at}]", item) for at, item in enumerate(value)))


def _parse_domain(name: str, value: object) -> str:
    host = _require_string(name, value)
    # Lower-case ASCII only: lower() would turn the Kelvin sign and similar characters into ASCII letters.
    lowered = host.lower() if host.isascii() else ""
    if len(host) > limits.DOMAIN_CHARS or not _DOMAIN.fullmatch(lowered):
        raise field_problem(name, "a bare domain such as example.com")
    return lowered


def parse_gate_fields(name: str, value: object) -> list[dict[str, Any]]:
    """Return a normalized form of 1 to 5 ``{key, label, type, required}``; ``[]`` for null and ``[]``, which clear it.

    Exactly one field has the type ``email``; it is always required. A missing ``required`` is false.
    """
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > limits.GATE_FIELDS:
        raise field_problem(name, f"a list of 1 to {limits.GATE_FIELDS} fields, or empty to clear")
    form = [_parse_gate_field(f"{name}[{at}]", item) for at, item in enumerate(value)]
    if len({entry["key"] for entry in form}) < len(form):
        raise field_problem(name, "a list of fields with different keys")
    if form and [entry["type"] for entry in form].count("email") != 1:
        raise field_problem(name, "a list with exactly one field of type email")
    return form


def _parse_gate_field(name: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise field_problem(name, "an object {key, label, type, required}")
    kind = word_parser(*GATE_TYPES)(f"{name}.type", value.get("type"))
    required = parse_boolean(f"{name}.required", value.get("required", False))
    return {
        "key": _require_match(
            _GATE_KEY, f"{name}.key", value.get("key"), "a lowercase letter, then letters, digits, or _"
        ),
        "label": text_parser(1, limits.GATE_LABEL_CHARS)(f"{name}.label", value.get("label")),
        "type": kind,
        "required": required or kind == "email",
    }


def _require_string(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise field_problem(name, "a string")
    return value


def _require_match(pattern: Pattern, name: str, value: object, rule: str) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise field_problem(name, rule)
    return value
