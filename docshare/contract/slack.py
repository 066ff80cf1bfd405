"""Events as Slack messages: ``blocks`` plus a ``text`` fallback.

Readers write many of the values. To keep them from injecting markup, mentions, links, or fake fields, every value goes
into a plain-text object, on one line, with ``&``, ``<`` and ``>`` escaped. The only link is created here.
"""

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any

from docshare.contract.wire import spoken

# Limits of Slack, in characters.
_HEADER = 150
_FIELD = 2_000
_FIELDS = 10  # in one section
_TEXT = 3_000
_SECTIONS = 10  # of fields; a message has room for fifty blocks

_LABEL = 100
_ESCAPED = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_CUT = "…"

_TITLES = {
    "file.viewed": "Document viewed",
    "file.downloaded": "Document downloaded",
    "gate.completed": "Gate completed",
    "note.created": "New note",
    "receipt.confirmed": "Receipt confirmed",
    "file.burned": "View limit reached, document destroyed",
    "content.replaced": "Document replaced",
    "invite.viewed": "Invitation opened",
    "proofing.updated": "Proofing started",
    "webhook.test": "Test delivery",
}
_LABELS = {
    "pagesViewed": "Pages viewed",
    "timeMs": "Reading time",
    "sessionId": "Session",
    "variantUuid": "Variant",
    "variantLabel": "Variant label",
    "source": "Source",
    "email": "Email",
    "author": "Author",
    "body": "Note",
    "pageNumber": "Page",
    "name": "Name",
    "contentVersion": "Version",
    "kind": "Kind",
    "viewer": "Reader",
}


def message(envelope: Mapping[str, Any], base_url: str) -> dict[str, Any]:
    """Return the body of a Slack delivery.

    Parameters: ``envelope`` the delivery in the json format (``event``, ``timestamp``, ``data``); ``base_url`` the
    address of this instance.
    """
    data = dict(envelope["data"])
    uuid, name = data.pop("fileUuid", None), data.pop("fileName", None)
    event = str(envelope["event"])
    title = _one_line(_TITLES.get(event, event), _HEADER)
    blocks: list[dict[str, Any]] = [{"type": "header", "text": _plain(title)}]
    if name is not None:
        blocks.append({"type": "section", "text": _plain(_one_line(name, _TEXT))})
    fields = [_plain(field) for field in _fields(data)][: _FIELDS * _SECTIONS]
    blocks += [{"type": "section", "fields": fields[at : at + _FIELDS]} for at in range(0, len(fields), _FIELDS)]
    if uuid is not None:
        link = f"<{_escape(base_url)}/readership/{_one_line(uuid, _LABEL)}|Open the readership report>"
        blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": link, "verbatim": True}})
    text = title if name is None else _join(f"{title}: ", name, _TEXT)
    return {"text": text, "mrkdwn": False, "blocks": blocks}


def _fields(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the label and value of each key of ``data``; the form responses one by one."""
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield from (_field(name, answer) for name, answer in value.items())
        else:
            yield _field(_LABELS.get(key, key), spoken(value // 1_000) if key == "timeMs" else value)


def _field(label: str, value: object) -> str:
    return _join(f"{_one_line(label, _LABEL)}:\n", value, _FIELD)


def _join(start: str, value: object, most: int) -> str:
    return start + _one_line(value, most - _units(start))


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": False}


def _one_line(value: object, most: int) -> str:
    """Return ``value`` on one line, escaped, with at most ``most`` characters as Slack counts them, without truncating
    an escape; "-" for an empty value, because Slack rejects empty text."""
    words = "".join(character if character.isprintable() else " " for character in str(value)).split()
    escaped = [_ESCAPED.get(character, character) for character in " ".join(words)]
    lengths = list(accumulate(_units(piece) for piece in escaped))
    if not lengths:
        return "-"
    if lengths[-1] <= most:
        return "".join(escaped)
    fitting = sum(length <= most - len(_CUT) for length in lengths)
    return "".join(escaped[:fitting]) + _CUT


def _units(piece: str) -> int:
    """Return the length in UTF-16 units, the largest of the ways to count characters."""
    return len(piece) + sum(character > "\uffff" for character in piece)


def _escape(text: str) -> str:
    return "".join(_ESCAPED.get(character, character) for character in text)
