"""The values that ``docshare trigger KIND --set key=value`` can set.

The server and the settings of the file determine all other values, as for a real reader.
"""

from collections.abc import Mapping
from typing import Any

from docshare.contract.event_values import Reader, text, whole, word
from docshare.contract.limits import HOUR
from docshare.contract.problems import Problem
from docshare.contract.webhooks import KINDS, PROOFING_KINDS

FORM = "fields"
LONGEST_READING_MS = 4 * HOUR
_MOST_PAGES = 5_000

SETTABLE: dict[str, dict[str, Reader]] = {
    "file.viewed": {
        "pagesViewed": whole(1, _MOST_PAGES),
        "timeMs": whole(1_000, LONGEST_READING_MS),
        "email": text,
        FORM: text,
    },
    "file.downloaded": {"email": text, FORM: text},
    "gate.completed": {"email": text, FORM: text},
    "note.created": {"author": text, "body": text, "pageNumber": whole(1)},
    "receipt.confirmed": {"name": text},
    "file.burned": {},
    "content.replaced": {},
    "invite.viewed": {"email": text, "name": text},
    "proofing.updated": {"kind": word(*PROOFING_KINDS), "pageNumber": whole(1)},
}
"""The keys of each kind that can be set; form fields are set one by one, such as ``fields.company``."""

DESTRUCTIVE: dict[str, str] = {
    "file.burned": "uses up the view limit and destroys the document",
    "content.replaced": "makes the document its own next version",
}
"""The kinds that change the file, and how."""


def read_values(kind: str, given: Mapping[str, str]) -> dict[str, Any]:
    """Return the parsed values of ``given`` (texts by key) for an event of ``kind``; form fields under ``FORM``.

    Raise ``bad_request`` for an unknown kind, an unknown key, or a malformed value; the hint lists the keys.
    """
    known = SETTABLE.get(kind)
    if known is None:
        raise Problem("bad_request", f"There is no event kind '{kind}'.", hint=f"Kinds: {', '.join(KINDS)}.")
    values: dict[str, Any] = {}
    for key, value in given.items():
        name, dot, inner = key.partition(".")
        if name not in known or bool(dot) != (name == FORM) or (dot and not inner):
            raise Problem("bad_request", f"'{key}' cannot be set for {kind}.", hint=_keys(kind))
        try:
            found = known[name](value)
        except ValueError as error:
            raise Problem("bad_request", f"{key}: '{value}' is not {error}.", hint=_keys(kind)) from None
        if dot:
            values.setdefault(FORM, {})[inner] = found
        else:
            values[name] = found
    return values


def _keys(kind: str) -> str:
    keys = [f"{FORM}.NAME" if key == FORM else key for key in SETTABLE[kind]]
    return f"Keys: {', '.join(keys)}." if keys else f"Nothing can be set for {kind}."
