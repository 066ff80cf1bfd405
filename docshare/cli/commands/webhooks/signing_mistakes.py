"""The usual mistakes with webhook signatures: other keys, other bodies, and other ways to put them together."""

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from docshare.contract.webhooks import DATA_KEYS, ENVELOPE_KEYS, KINDS, SECRET_HEX_CHARS, SECRET_PREFIX

_SECRET = re.compile(f"{SECRET_PREFIX}[0-9a-f]{{{SECRET_HEX_CHARS}}}")
_QUOTES = "\"'`"
_BLANKS = " \t\r\n\ufeff"
_BOM = b"\xef\xbb\xbf"
_RAW = "Verify over the raw bytes, before anything parses them."
_WHOLE = "The key is the whole secret as text, prefix included."


class Form(NamedTuple):
    """One way to do it: ``how`` the signature fits then, empty for the right way; ``advice``: what to do instead."""

    value: bytes
    how: str = ""
    advice: str = ""


def keys(secret: str) -> Iterator[Form]:
    """The right key first, then what others make of ``secret``."""
    yield Form(_encoded(secret))
    bare = secret.strip(_BLANKS).strip(_QUOTES)
    inside = _SECRET.search(secret)
    if bare != secret:
        how = "with the secret without the quotes or blank space around it"
        yield Form(_encoded(bare), how, "Clean the secret file.")
    if inside and inside[0] not in (secret, bare):
        yield Form(_encoded(inside[0]), "with the secret that stands inside the file", "The file holds more than it.")
    for end, name in (("\n", "line feed"), ("\r\n", "CR LF")):
        yield Form(_encoded(bare + end), f"with a {name} behind the secret", "Cut it off after reading the file.")
    rest = bare.removeprefix(SECRET_PREFIX)
    if rest != bare:
        yield Form(_encoded(rest), f"with the key without {SECRET_PREFIX}", _WHOLE)
    else:
        yield Form(_encoded(SECRET_PREFIX + bare), f"with {SECRET_PREFIX} before the secret", _WHOLE)
    if bare.lower() != bare:
        yield Form(_encoded(bare.lower()), "with the secret in lower case", "The secret is kept with other letters.")
    yield from _made(
        (lambda: bytes.fromhex(rest), "with the hex-decoded key", _WHOLE),
        (lambda: base64.b64decode(rest, validate=True), "with the Base64-decoded key", _WHOLE),
    )


def _made(*ways: tuple[Callable[[], bytes], str, str]) -> Iterator[Form]:
    """The forms of those ways that lead to one."""
    for way, how, advice in ways:
        try:
            value = way()
        except ValueError:  # so is an error of Base64 or of Unicode
            continue
        yield Form(value, how, advice)


def messages(seconds: str) -> Iterator[Form]:
    """What is signed, the right way first; ``%`` stands for the body."""
    t, right = seconds.encode(), "Signed is <t>.<raw body>, t in seconds."
    yield Form(t + b".%")
    yield Form(b"%", "with the body alone, without t", right)
    yield Form(t + b"%", "without the dot between t and the body", right)
    yield Form(b"%." + t, "with t behind the body", right)
    yield Form(t + b"000.%", "with t in milliseconds before the body", right)
    if len(t) > len("1700000000"):
        yield Form(t[:-3] + b".%", "with t in seconds before the body, though the header has milliseconds", right)


def bodies(body: bytes) -> Iterator[Form]:
    """The body as it is, then as others change it; each text once, the plainest explanation first."""
    known = {body}
    yield Form(body)
    for form in _changed(body):
        if form.value not in known:
            known.add(form.value)
            yield form


def _changed(body: bytes) -> Iterator[Form]:
    for end, name in ((b"\n", "newline"), (b"\r\n", "CR LF")):
        yield Form(body.removesuffix(end), f"if the trailing {name} is removed", "It was added on the way.")
        yield Form(body + end, f"if a trailing {name} is added", "It was cut off on the way.")
    yield Form(body.strip(), "if the blank space around the body is removed", "It was added on the way.")
    yield Form(body.replace(b"\r\n", b"\n"), "with LF instead of CR LF in the body", "Something changed the line ends.")
    lines = re.sub(rb"\r?\n", b"\r\n", body)
    yield Form(lines, "with CR LF instead of LF in the body", "Something changed the line ends.")
    yield Form(body.removeprefix(_BOM), "without the byte order mark before the body", "Something wrote it as text.")
    yield Form(_BOM + body, "with a byte order mark before the body", "It was cut off on the way.")
    yield from _recoded(body)
    yield from _reserialised(body)


def _recoded(body: bytes) -> Iterator[Form]:
    yield from _made(
        (lambda: body.decode().encode("latin-1"), "if the body had not been decoded as Latin-1", "It is UTF-8."),
        (lambda: body.decode().encode("cp1252"), "if the body had not been decoded as Windows-1252", "It is UTF-8."),
        (lambda: body.decode("latin-1").encode(), "if the body were UTF-8 and not Latin-1", "Keep it as it came."),
        (lambda: body.decode("utf-16").encode(), "if the body were UTF-8 and not UTF-16", "Keep it as it came."),
        (lambda: base64.b64decode(body, validate=True), "if the body is decoded from Base64", "A gateway encoded it."),
    )


def _reserialised(body: bytes) -> Iterator[Form]:
    """The body as JSON libraries write it: whoever signs or verifies a parsed body has one of these."""
    try:
        found = json.loads(body)
        if isinstance(found, str):
            yield Form(_encoded(found), "if the body is taken out of the JSON text that it is wrapped in", _RAW)
            return
        yield from _written(found)
    except (ValueError, RecursionError):
        return


_SPACINGS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("compact", {"separators": (",", ":")}),
    ("with blanks behind commas and colons", {}),
    ("indented by 2", {"indent": 2}),
    ("indented by 4", {"indent": 4}),
    ("indented by tabs", {"indent": "\t"}),
)


def _written(found: Any) -> Iterator[Form]:
    orders = (
        ("", found, False),
        (", keys in their first order", _in_order(found), False),
        (", sorted keys", found, True),
    )
    for order, value, sort in orders:
        for escapes in (False, True):
            for spacing, shape in _SPACINGS:
                text = json.dumps(value, ensure_ascii=escapes, sort_keys=sort, **shape)
                about = f"{spacing}{order}{', non-ASCII letters escaped' if escapes else ''}"
                yield Form(_encoded(text), f"with the JSON written anew ({about})", f"Your framework parsed it. {_RAW}")


def _in_order(envelope: Any) -> Any:
    """An envelope with its keys as they are sent, wherever a JSON library put them."""
    if not isinstance(envelope, Mapping) or not isinstance(envelope.get("data"), Mapping):
        return envelope
    kind = KINDS.get(str(envelope.get("event")))
    data_keys = (*DATA_KEYS, *(kind.always if kind else ()), *(kind.when if kind else ()))
    return {**_first(envelope, ENVELOPE_KEYS), "data": _first(envelope["data"], data_keys)}


def _first(values: Mapping[str, Any], order: tuple[str, ...]) -> dict[str, Any]:
    return {**{key: values[key] for key in order if key in values}, **values}


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
