"""The values that ``docshare trigger KIND --set key=value`` can set.

The server and the settings of the file determine all other values, as for a real reader.
"""

from collections.abc import Mapping
from typing import Any

from docshare.contract.event_values import ValueParser, parse_text, whole_number_parser, word_parser
from docshare.contract.limits import HOUR
from docshare.contract.problems import Problem
from docshare.contract.webhooks import KINDS, PROOFING_KINDS

FORM_KEY = "fields"
LONGEST_READING_MS = 4 * HOUR
_MAX_PAGES = 5_000

SETTABLE: dict[str, dict[str, ValueParser]] = {
    "file.viewed": {
        "pagesViewed": whole_number_parser(1, _MAX_PAGES),
        "timeMs": whole_number_parser(1_000, LONGEST_READING_MS),
        "email": parse_text,
        FORM_KEY: parse_text,
    },
    "file.downloaded": {"email": parse_text, FORM_KEY: parse_text},
    "gate.completed": {"email": parse_text, FORM_KEY: parse_text},
    "note.created": {"author": parse_text, "body": parse_text, "pageNumber": whole_number_parser(1)},
    "receipt.confirmed": {"name": parse_text},
    "file.burned": {},
    "content.replaced": {},
    "invite.viewed": {"email": parse_text, "name": parse_text},
    "proofing.updated": {"kind": word_parser(*PROOFING_KINDS), "pageNumber": whole_number_parser(1)},
}
"""The keys of each kind that can be set; form fields are set one by one, such as ``fields.company``."""

DESTRUCTIVE: dict[str, str] = {
    "file.burned": "uses up the view limit and deletes the document",
    "content.replaced": "makes the document its own next version",
}
"""The kinds that change the file, and how."""


def parse_values(kind: str, given: Mapping[str, str]) -> dict[str, Any]:
    """Return the parsed values of ``given`` (texts by key) for an event of ``kind``; form fields under ``fields``.

    Raise ``bad_request`` for an unknown kind, an unknown key, or a malformed value; the hint lists the keys.
    """
    known = SETTABLE.get(kind)
    if known is None:
        raise Problem("bad_request", f"There is no event kind '{kind}'.", hint=f"Kinds: {', '.join(KINDS)}.")
    values: dict[str, Any] = {}
    for key, value in given.items():
        name, dot, inner = key.partition(".")
        if name not in known or bool(dot) != (name == FORM_KEY) or (dot and not inner):
            raise Problem("bad_request", f"'{key}' cannot be set for {kind}.", hint=_key_hint(kind))
        try:
            found = known[name](value)
        except ValueError as error:
            raise Problem("bad_request", f"{key}: '{value}' is not {error}.", hint=_key_hint(kind)) from None
        if dot:
            values.setdefault(FORM_KEY, {})[inner] = found
        else:
            values[name] = found
    return values


def _key_hint(kind: str) -> str:
    keys = [f"{FORM_KEY}.NAME" if key == FORM_KEY else key for key in SETTABLE[kind]]
    return f"Keys: {', '.join(keys)}." if keys else f"Nothing can be set for {kind}."
