"""Common mistakes with webhook signatures: wrong keys, changed bodies, and wrong signed messages."""

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from docshare.contract.webhooks import DATA_KEYS, ENVELOPE_KEYS, KINDS, SECRET_HEX_CHARS, SECRET_PREFIX

_SECRET = re.compile(f"{SECRET_PREFIX}[0-9a-f]{{{SECRET_HEX_CHARS}}}")
_QUOTES = "\"'`"
_BLANKS = " \t\r\n\ufeff"
_BOM = b"\xef\xbb\xbf"
_RAW_BODY_ADVICE = "Verify the raw bytes, before anything parses them."
_WHOLE_KEY_ADVICE = "The key is the whole secret as text, including the prefix."


@dataclass(frozen=True)
class Candidate:
    """A key, body or message to try.

    ``explanation`` describes the mistake and is empty for the correct way; ``advice`` is the fix.
    """

    value: bytes
    explanation: str = ""
    advice: str = ""


def list_keys(secret: str) -> Iterator[Candidate]:
    """Yield the correct key, then wrong ones derived from ``secret``."""
    yield Candidate(_encode(secret))
    bare = secret.strip(_BLANKS).strip(_QUOTES)
    inside = _SECRET.search(secret)
    if bare != secret:
        how = "with the secret without the quotes or whitespace around it"
        yield Candidate(_encode(bare), how, "Remove them from the secret file.")
    if inside and inside[0] not in (secret, bare):
        yield Candidate(_encode(inside[0]), "with only the secret from the file", "The file contains other text.")
    for end, name in (("\n", "line feed"), ("\r\n", "CR LF")):
        yield Candidate(_encode(bare + end), f"with a {name} after the secret", "Strip it after reading the file.")
    rest = bare.removeprefix(SECRET_PREFIX)
    if rest != bare:
        yield Candidate(_encode(rest), f"with the key without {SECRET_PREFIX}", _WHOLE_KEY_ADVICE)
    else:
        yield Candidate(_encode(SECRET_PREFIX + bare), f"with {SECRET_PREFIX} before the secret", _WHOLE_KEY_ADVICE)
    if bare.lower() != bare:
        yield Candidate(
            _encode(bare.lower()), "with the secret in lowercase", "The secret was stored in a different case."
        )
    yield from _try_candidates(
        (lambda: bytes.fromhex(rest), "with the hex-decoded key", _WHOLE_KEY_ADVICE),
        (lambda: base64.b64decode(rest, validate=True), "with the Base64-decoded key", _WHOLE_KEY_ADVICE),
    )


def _try_candidates(*ways: tuple[Callable[[], bytes], str, str]) -> Iterator[Candidate]:
    """Yield the candidates that can be computed."""
    for way, how, advice in ways:
        try:
            value = way()
        except ValueError:  # Base64 and Unicode errors are subclasses
            continue
        yield Candidate(value, how, advice)


def list_messages(seconds: str) -> Iterator[Candidate]:
    """Yield the signed messages, the correct one first; ``%`` stands for the body."""
    t, right = seconds.encode(), "Sign <t>.<raw body>, with t in seconds."
    yield Candidate(t + b".%")
    yield Candidate(b"%", "with the body alone, without t", right)
    yield Candidate(t + b"%", "without the dot between t and the body", right)
    yield Candidate(b"%." + t, "with t after the body", right)
    yield Candidate(t + b"000.%", "with t in milliseconds", right)
    if len(t) > len("1700000000"):
        yield Candidate(t[:-3] + b".%", "with t in seconds, although the header has milliseconds", right)


def list_bodies(body: bytes) -> Iterator[Candidate]:
    """Yield the body, then changed bodies without duplicates, the simplest explanation first."""
    known = {body}
    yield Candidate(body)
    for form in _list_changed_bodies(body):
        if form.value not in known:
            known.add(form.value)
            yield form


def _list_changed_bodies(body: bytes) -> Iterator[Candidate]:
    for end, name in ((b"\n", "newline"), (b"\r\n", "CR LF")):
        yield Candidate(body.removesuffix(end), f"if the trailing {name} is removed", "It was added in transit.")
        yield Candidate(body + end, f"if a trailing {name} is added", "It was removed in transit.")
    yield Candidate(body.strip(), "if the whitespace around the body is removed", "It was added in transit.")
    yield Candidate(
        body.replace(b"\r\n", b"\n"), "with LF instead of CR LF in the body", "Something changed the line ends."
    )
    lines = re.sub(rb"\r?\n", b"\r\n", body)
    yield Candidate(lines, "with CR LF instead of LF in the body", "Something changed the line ends.")
    yield Candidate(
        body.removeprefix(_BOM), "without the byte order mark before the body", "Something saved the body as text."
    )
    yield Candidate(_BOM + body, "with a byte order mark before the body", "It was removed in transit.")
    yield from _list_recoded_bodies(body)
    yield from _list_reserialized_bodies(body)


def _list_recoded_bodies(body: bytes) -> Iterator[Candidate]:
    yield from _try_candidates(
        (lambda: body.decode().encode("latin-1"), "if the body had not been decoded as Latin-1", "It is UTF-8."),
        (lambda: body.decode().encode("cp1252"), "if the body had not been decoded as Windows-1252", "It is UTF-8."),
        (lambda: body.decode("latin-1").encode(), "if the body were UTF-8 and not Latin-1", "Store the raw bytes."),
        (lambda: body.decode("utf-16").encode(), "if the body were UTF-8 and not UTF-16", "Store the raw bytes."),
        (lambda: base64.b64decode(body, validate=True), "if the body is decoded from Base64", "A gateway encoded it."),
    )


def _list_reserialized_bodies(body: bytes) -> Iterator[Candidate]:
    """Yield the body as JSON libraries serialize it, for receivers that verify a parsed body."""
    try:
        found = json.loads(body)
        if isinstance(found, str):
            yield Candidate(_encode(found), "if the body is extracted from a JSON string", _RAW_BODY_ADVICE)
            return
        yield from _list_json_forms(found)
    except (ValueError, RecursionError):
        return


_SPACINGS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("compact", {"separators": (",", ":")}),
    ("with spaces after commas and colons", {}),
    ("indented by 2", {"indent": 2}),
    ("indented by 4", {"indent": 4}),
    ("indented by tabs", {"indent": "\t"}),
)


def _list_json_forms(found: Any) -> Iterator[Candidate]:
    orders = (
        ("", found, False),
        (", original key order", _restore_key_order(found), False),
        (", sorted keys", found, True),
    )
    for order, value, sort in orders:
        for escapes in (False, True):
            for spacing, shape in _SPACINGS:
                text = json.dumps(value, ensure_ascii=escapes, sort_keys=sort, **shape)
                about = f"{spacing}{order}{', non-ASCII characters escaped' if escapes else ''}"
                yield Candidate(
                    _encode(text),
                    f"with the JSON serialized again ({about})",
                    f"Your framework parsed it. {_RAW_BODY_ADVICE}",
                )


def _restore_key_order(envelope: Any) -> Any:
    """Return the envelope with its keys in the order in which the server sends them."""
    if not isinstance(envelope, Mapping) or not isinstance(envelope.get("data"), Mapping):
        return envelope
    kind = KINDS.get(str(envelope.get("event")))
    data_keys = (*DATA_KEYS, *(kind.required_keys if kind else ()), *(kind.optional_keys if kind else ()))
    return {**_put_first(envelope, ENVELOPE_KEYS), "data": _put_first(envelope["data"], data_keys)}


def _put_first(values: Mapping[str, Any], order: tuple[str, ...]) -> dict[str, Any]:
    return {**{key: values[key] for key in order if key in values}, **values}


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
