"""The small strict parsers that the tables are made of.

A parser takes the name of the field and the value as ``json.loads`` gave it, and returns the value to keep or raises
``Problem('bad_request')`` whose detail names the field. Parsers look at types first, never recurse into what they do
not know, and read digits and letters as ASCII only, so no input makes them raise anything else.
"""

import math
import re
from collections.abc import Callable
from typing import Any, TypeGuard, TypeVar

from docshare.contract import limits, wire
from docshare.contract.patterns import Pattern
from docshare.contract.problems import Problem

T = TypeVar("T")
Parser = Callable[[str, object], T]

_CONTROL = Pattern("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_UUID = Pattern("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_SHORT_ID = Pattern("[0-9A-Za-z]{12}")
_COLOUR = Pattern("#[0-9A-Fa-f]{6}")
_MEASUREMENT = Pattern("G-[A-Z0-9]{10}")
_SLUG = Pattern(f"[a-z0-9-]{{1,{limits.SLUG_CHARS}}}")
_GATE_KEY = Pattern(f"[a-z][a-z0-9_]{{0,{limits.GATE_KEY_CHARS - 1}}}")
# Letters of every script, but nothing that ends an address or a line, not even as an encoded word: an address is put
# into mails and pages.
_EMAIL = Pattern(
    r"(?!.*=\?)[^@\s\"'(),:;<>\[\\\]\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,64}"
    r"@(?:[\w-]{1,63}\.)*[\w-]{1,63}"
)
_EMAIL_CHARS = 254
_DOMAIN = Pattern(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+")
# The authority is matched whole, so userinfo, a backslash or a second reading of the host cannot hide in it.
_WEB_URL = Pattern(
    r"https?://(?:[a-z0-9][a-z0-9._-]*|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?(?:[/?#][!#-;=?-\[\]^_a-z{|}~]*)?",
    re.IGNORECASE | re.ASCII,
)

ROUTE_WORDS = frozenset(
    {
        ".well-known",
        "_admin",
        "account",
        "api",
        "dashboard",
        "embed",
        "favicon.ico",
        "files",
        "healthz",
        "login",
        "logout",
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
"""First path segments that the server itself answers; no slug may be one of them."""

GATE_TYPES = ("text", "email", "phone", "company")


def refusal(name: str, rule: str) -> Problem:
    """The problem of a field ``name`` that breaks ``rule`` (what it must be, without a full stop)."""
    return Problem("bad_request", f"{name} must be {rule}.")


def is_integer(value: object) -> TypeGuard[int]:
    """Whether ``value`` is a JSON integer; ``true`` is not one, although Python thinks so."""
    return isinstance(value, int) and not isinstance(value, bool)


def boolean(name: str, value: object) -> bool:
    """A JSON boolean; 0, 1 and words are refused."""
    if not isinstance(value, bool):
        raise refusal(name, "true or false")
    return value


def integer(low: int, high: int) -> Parser[int]:
    """A parser of JSON integers from ``low`` to ``high``, both included."""

    def parse(name: str, value: object) -> int:
        if not is_integer(value) or not low <= value <= high:
            raise refusal(name, f"an integer from {low} to {high}")
        return value

    return parse


def clamped(value: object, low: float, high: float) -> float | None:
    """The number nearest to ``value`` between ``low`` and ``high``; None for what is no finite number.

    Between integer bounds the result is an integer (a fraction is rounded).
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not _finite(value):
        return None
    nearest = min(max(value, low), high)
    return round(nearest) if isinstance(low, int) and isinstance(high, int) else nearest


def _finite(value: float) -> bool:
    # math.isfinite turns an integer into a float first, which overflows on a huge one.
    return isinstance(value, int) or math.isfinite(value)


def text(low: int, high: int) -> Parser[str]:
    """A parser of one line of text, trimmed, of ``low`` to ``high`` characters (code points), without controls."""

    def parse(name: str, value: object) -> str:
        trimmed = _string(name, value).strip()
        if not low <= len(trimmed) <= high:
            raise refusal(name, f"a text of {low} to {high} characters")
        if _CONTROL.search(trimmed):
            raise refusal(name, "a text without control characters")
        return trimmed

    return parse


def email(name: str, value: object) -> str:
    """One e-mail address as people have them, trimmed: a local part of up to 64 characters without spaces, quotes,
    brackets, commas or the like, ``@``, and a domain. It can stand in the header of a mail as it is."""
    trimmed = _string(name, value).strip()
    if len(trimmed) > _EMAIL_CHARS or not _EMAIL.fullmatch(trimmed):
        raise refusal(name, "an e-mail address such as ada@example.com")
    return trimmed


def word(*words: str) -> Parser[str]:
    """A parser of one of ``words``."""

    def parse(name: str, value: object) -> str:
        if not isinstance(value, str) or value not in words:
            raise refusal(name, "one of " + ", ".join(words))
        return value

    return parse


def instant(name: str, value: object) -> int:
    """An RFC 3339 datetime with any offset and fraction, as milliseconds since 1970 (UTC)."""
    millis = wire.parse_instant(value) if isinstance(value, str) else None
    if millis is None:
        raise refusal(name, "an ISO 8601 datetime with a time zone, such as 2030-01-31T18:00:00Z")
    return millis


def colour(name: str, value: object) -> str:
    """A colour ``#RRGGBB``, kept in the case it was sent in."""
    return _match(_COLOUR, name, value, "a colour of the form #RRGGBB")


def measurement(name: str, value: object) -> str:
    """An analytics measurement id of the form ``G-XXXXXXXXXX``."""
    return _match(_MEASUREMENT, name, value, "a measurement id of the form G-XXXXXXXXXX")


def https_url(name: str, value: object, most: int = limits.URL_CHARS) -> str:
    """An ``https://`` address of at most ``most`` printable ASCII characters without user name, as sent.

    Where it points to is not judged here (see the server's rules for webhook targets).
    """
    url = _string(name, value)
    if not url.lower().startswith("https:") or not _is_web_url(url, most):
        rule = "an https:// address without user name, spaces or unescaped characters"
        raise refusal(name, f"{rule}, at most {most} characters")
    return url


def web_url(name: str, value: object, most: int = limits.URL_CHARS) -> str:
    """As ``https_url``, but ``http://`` will do."""
    url = _string(name, value)
    if not _is_web_url(url, most):
        rule = "an http:// or https:// address without user name, spaces or unescaped characters"
        raise refusal(name, f"{rule}, at most {most} characters")
    return url


def _is_web_url(url: str, most: int) -> bool:
    match = _WEB_URL.fullmatch(url) if len(url) <= most else None
    return match is not None and 1 <= int(match[1] or 443) <= 65535


def slug(name: str, value: object) -> str:
    """A custom link name, or ``""`` (which clears). Route words and what looks like a UUID are refused.

    Whether it is taken (409) is decided where the files are known. Spec gap: shape and reserved words.
    """
    if value == "":
        return ""
    found = _match(_SLUG, name, value, f"1 to {limits.SLUG_CHARS} lowercase letters, digits or hyphens")
    if is_uuid(found) or found in ROUTE_WORDS:
        raise refusal(name, f"another word: '{found}' has a meaning of its own in addresses")
    return found


def password(name: str, value: object) -> str:
    """A share password, as sent (not trimmed): 1 to 128 bytes of UTF-8 without CR, LF, TAB and NUL; ``""`` clears."""
    secret = _string(name, value)
    try:
        size = len(secret.encode())
    except UnicodeEncodeError:
        size = limits.PASSWORD_BYTES + 1
    if size > limits.PASSWORD_BYTES or any(mark in secret for mark in "\r\n\t\0"):
        raise refusal(name, f"1 to {limits.PASSWORD_BYTES} bytes without line breaks, tabs and NUL, or empty to clear")
    return secret


def is_uuid(value: object) -> bool:
    """Whether ``value`` is the text of a UUID, in either case."""
    return isinstance(value, str) and _UUID.fullmatch(value) is not None


def is_short_id(value: object) -> bool:
    """Whether ``value`` has the shape of a short id: 12 characters of base62, where case matters."""
    return isinstance(value, str) and _SHORT_ID.fullmatch(value) is not None


def uuid(name: str, value: object) -> str:
    """A UUID in either case, returned in lower case."""
    return _match(_UUID, name, value, "a UUID").lower()


asset_id = uuid
"""The id that an asset upload answered with. Whether it belongs to the file is decided where the assets are known."""


def page_range(name: str, value: object) -> dict[str, int]:
    """``{"from", "to"}`` with ``1 <= from <= to``, or both 0. The file's last page is checked where it is known."""
    rule = "an object {from, to} of integers with 1 <= from <= to, or {from: 0, to: 0}"
    if not isinstance(value, dict):
        raise refusal(name, rule)
    first, last = value.get("from"), value.get("to")
    if not is_integer(first) or not is_integer(last):
        raise refusal(name, rule)
    if not first == last == 0 and not 1 <= first <= last <= limits.PAGES_PER_FILE:
        raise refusal(name, rule)
    return {"from": first, "to": last}


def domains(name: str, value: object) -> list[str]:
    """Up to 20 host names with a dot, in lower case and each once; the empty list clears."""
    if not isinstance(value, list) or len(value) > limits.GATE_DOMAINS:
        raise refusal(name, f"a list of up to {limits.GATE_DOMAINS} domains")
    return list(dict.fromkeys(_domain(f"{name}[{at}]", item) for at, item in enumerate(value)))


def _domain(name: str, value: object) -> str:
    host = _string(name, value)
    # Only ASCII is lowered: the Kelvin sign and its like would become ordinary letters.
    lowered = host.lower() if host.isascii() else ""
    if len(host) > limits.DOMAIN_CHARS or not _DOMAIN.fullmatch(lowered):
        raise refusal(name, "a bare domain such as example.com")
    return lowered


def gate_form(name: str, value: object) -> list[dict[str, Any]]:
    """A lead form of 1 to 5 ``{key, label, type, required}``, normalised; null and ``[]`` (which clear) give ``[]``.

    Exactly one field has the type ``email``; it comes back required whatever was sent. A missing ``required`` is
    false. Spec gap: gateFields.
    """
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > limits.GATE_FIELDS:
        raise refusal(name, f"a list of 1 to {limits.GATE_FIELDS} fields, or empty to clear")
    form = [_gate_field(f"{name}[{at}]", item) for at, item in enumerate(value)]
    if len({entry["key"] for entry in form}) < len(form):
        raise refusal(name, "a list of fields whose keys differ")
    if form and [entry["type"] for entry in form].count("email") != 1:
        raise refusal(name, "a list with exactly one field of type email")
    return form


def _gate_field(name: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise refusal(name, "an object {key, label, type, required}")
    kind = word(*GATE_TYPES)(f"{name}.type", value.get("type"))
    required = boolean(f"{name}.required", value.get("required", False))
    return {
        "key": _match(_GATE_KEY, f"{name}.key", value.get("key"), "a lowercase letter, then letters, digits or _"),
        "label": text(1, limits.GATE_LABEL_CHARS)(f"{name}.label", value.get("label")),
        "type": kind,
        "required": required or kind == "email",
    }


def _string(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise refusal(name, "a string")
    return value


def _match(pattern: Pattern, name: str, value: object, rule: str) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise refusal(name, rule)
    return value
