"""Events as Slack messages: ``blocks`` plus a ``text`` fallback.

Readers write many of the values. To keep them from injecting markup, mentions, links, or fake fields, every value goes
into a plain-text object, on one line, with ``&``, ``<`` and ``>`` escaped. The only link is created here.
"""

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any

from docshare.contract.webhooks import name_kind
from docshare.contract.wire import format_duration

# Limits of Slack, in characters.
_HEADER_CHARS = 150
_FIELD_CHARS = 2_000
_FIELDS_PER_SECTION = 10  # in one section
_TEXT_CHARS = 3_000
_MAX_SECTIONS = 10  # of fields; a message has room for fifty blocks

_LABEL_CHARS = 100
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_ELLIPSIS = "…"

_LABELS = {
    "pagesViewed": "Pages viewed",
    "timeMs": "Reading time",
    "sessionId": "Session",
    "variantUuid": "Personal link (ID)",
    "variantLabel": "Personal link",
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


def render_message(envelope: Mapping[str, Any], base_url: str) -> dict[str, Any]:
    """Return the body of a Slack delivery.

    Parameters: ``envelope`` the delivery in the json format (``event``, ``timestamp``, ``data``); ``base_url`` the
    address of this instance.
    """
    data = dict(envelope["data"])
    uuid, name = data.pop("fileUuid", None), data.pop("fileName", None)
    event = str(envelope["event"])
    title = _render_line(name_kind(event), _HEADER_CHARS)
    blocks: list[dict[str, Any]] = [{"type": "header", "text": _plain_text_object(title)}]
    if name is not None:
        blocks.append({"type": "section", "text": _plain_text_object(_render_line(name, _TEXT_CHARS))})
    fields = [_plain_text_object(field) for field in _render_fields(data)][: _FIELDS_PER_SECTION * _MAX_SECTIONS]
    blocks += [
        {"type": "section", "fields": fields[at : at + _FIELDS_PER_SECTION]}
        for at in range(0, len(fields), _FIELDS_PER_SECTION)
    ]
    if uuid is not None:
        link = f"<{_escape(base_url)}/readership/{_render_line(uuid, _LABEL_CHARS)}|Open the readership report>"
        blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": link, "verbatim": True}})
    text = title if name is None else _append_value(f"{title}: ", name, _TEXT_CHARS)
    return {"text": text, "mrkdwn": False, "blocks": blocks}


def _render_fields(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the label and value of each key of ``data``; the form responses one by one."""
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield from (_render_field(name, answer) for name, answer in value.items())
        else:
            yield _render_field(_LABELS.get(key, key), format_duration(value) if key == "timeMs" else value)


def _render_field(label: str, value: object) -> str:
    return _append_value(f"{_render_line(label, _LABEL_CHARS)}:\n", value, _FIELD_CHARS)


def _append_value(start: str, value: object, most: int) -> str:
    return start + _render_line(value, most - _count_utf16_units(start))


def _plain_text_object(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": False}


def _render_line(value: object, most: int) -> str:
    """Return ``value`` on one line, escaped, with at most ``most`` characters as Slack counts them, without truncating
    an escape; "-" for an empty value, because Slack rejects empty text."""
    words = "".join(character if character.isprintable() else " " for character in str(value)).split()
    escaped = [_ESCAPES.get(character, character) for character in " ".join(words)]
    lengths = list(accumulate(_count_utf16_units(piece) for piece in escaped))
    if not lengths:
        return "-"
    if lengths[-1] <= most:
        return "".join(escaped)
    fitting = sum(length <= most - len(_ELLIPSIS) for length in lengths)
    return "".join(escaped[:fitting]) + _ELLIPSIS


def _count_utf16_units(piece: str) -> int:
    """Return the length in UTF-16 units, the largest of the ways to count characters."""
    return len(piece) + sum(character > "\uffff" for character in piece)


def _escape(text: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in text)
