"""What an event says to people: one short sentence for each kind. Any server may have sent it, so nothing is sure."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from docshare.cli.terminal.text import clean, clip, human_duration

_ROOM = 160  # cells for what a reader wrote

_REFUSALS = {
    "password": "wrong password",
    "domain": "address of another domain",
    "revoked": "revoked link opened",
    "expired": "expired link opened",
    "burned": "link opened after its last view",
}


def event_words(row: Mapping[str, Any]) -> str:
    """The sentence for a row of the activity feed; empty where its kind says it all."""
    data = row.get("data")
    if not isinstance(data, Mapping):
        return ""
    say = _WORDS.get(str(row.get("event")), _anything)
    return "  ".join(filter(None, say(data)))


def _viewed(data: Mapping[str, Any]) -> Iterator[str]:
    yield _counted(data, "pagesViewed", "page")
    spent = data.get("timeMs")
    yield human_duration(spent) if isinstance(spent, int) else ""
    yield from _through(data)


def _through(data: Mapping[str, Any]) -> Iterator[str]:
    label = _text(data, "variantLabel")
    yield f"link of {label}" if label else "link of a recipient" if "variantUuid" in data else ""


def _passed(data: Mapping[str, Any]) -> Iterator[str]:
    fields = data.get("fields")
    answers = fields.items() if isinstance(fields, Mapping) else [("email", _text(data, "email"))]
    yield " ".join(f"{key}={value}" for key, value in answers if value)


def _noted(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"{_text(data, 'author')}{_on_page(data)}: {_text(data, 'body')}"


def _received(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"by {_text(data, 'name')}"


def _burned(_: Mapping[str, Any]) -> Iterator[str]:
    yield "its last view is over, the document is destroyed"


def _replaced(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"version {_text(data, 'contentVersion')}"


def _opened(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"{_text(data, 'name')} <{_text(data, 'email')}>".strip()


def _proofed(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"first {_text(data, 'kind')} by {_text(data, 'viewer')}{_on_page(data)}"


def _denied(data: Mapping[str, Any]) -> Iterator[str]:
    reason = _text(data, "reason")
    yield _REFUSALS.get(reason, reason)
    yield _counted(data, "count", "time") if data.get("count") != 1 else ""


def _anything(data: Mapping[str, Any]) -> Iterator[str]:
    from docshare.contract.webhooks import DATA_KEYS

    for key in data:
        if key not in DATA_KEYS:
            yield f"{key}={_text(data, key)}"


_WORDS: dict[str, Callable[[Mapping[str, Any]], Iterator[str]]] = {
    "file.viewed": _viewed,
    "file.downloaded": _through,
    "gate.completed": _passed,
    "note.created": _noted,
    "receipt.confirmed": _received,
    "file.burned": _burned,
    "content.replaced": _replaced,
    "invite.viewed": _opened,
    "proofing.updated": _proofed,
    "access.denied": _denied,
}


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    return "" if value is None else clip(clean(str(value)), _ROOM)


def _on_page(data: Mapping[str, Any]) -> str:
    page = data.get("pageNumber")
    return f" on page {page}" if isinstance(page, int) else ""


def _counted(data: Mapping[str, Any], key: str, what: str) -> str:
    count = data.get(key)
    return "" if not isinstance(count, int) else f"{count} {what}" if count == 1 else f"{count} {what}s"
