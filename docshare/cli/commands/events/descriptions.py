"""Describe events in one short phrase per kind. The data may come from any server, so every key may be missing."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from docshare.cli.terminal.text import clean, clip
from docshare.contract.amounts import format_plural
from docshare.contract.wire import format_duration

_MAX_TEXT_CELLS = 160  # cells for text written by a reader

_DENIAL_REASONS = {
    "password": "wrong password",
    "domain": "email domain not allowed",
    "revoked": "link revoked",
    "expired": "link expired",
    "burned": "no views left",
}


def describe_event(row: Mapping[str, Any]) -> str:
    """Return the phrase for a row of the activity feed, or nothing if the kind is sufficient."""
    data = row.get("data")
    if not isinstance(data, Mapping):
        return ""
    describe = _DESCRIBERS.get(str(row.get("event")), _describe_unknown_kind)
    return "  ".join(filter(None, describe(data)))


def _describe_view(data: Mapping[str, Any]) -> Iterator[str]:
    yield _format_count(data, "pagesViewed", "page")
    spent = data.get("timeMs")
    yield format_duration(spent) if isinstance(spent, int) else ""
    yield from _describe_link(data)


def _describe_link(data: Mapping[str, Any]) -> Iterator[str]:
    label = _read_text(data, "variantLabel")
    yield f"variant {label}" if label else "variant" if "variantUuid" in data else ""


def _describe_gate_response(data: Mapping[str, Any]) -> Iterator[str]:
    fields = data.get("fields")
    answers = fields.items() if isinstance(fields, Mapping) else [("email", _read_text(data, "email"))]
    yield " ".join(f"{key}={value}" for key, value in answers if value)


def _describe_note(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"{_read_text(data, 'author')}{_describe_page(data)}: {_read_text(data, 'body')}"


def _describe_receipt(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"by {_read_text(data, 'name')}"


def _describe_burn(_: Mapping[str, Any]) -> Iterator[str]:
    yield "last view used, document deleted"


def _describe_replacement(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"version {_read_text(data, 'contentVersion')}"


def _describe_invite_view(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"{_read_text(data, 'name')} <{_read_text(data, 'email')}>".strip()


def _describe_proofing(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"first {_read_text(data, 'kind')} by {_read_text(data, 'viewer')}{_describe_page(data)}"


def _describe_denial(data: Mapping[str, Any]) -> Iterator[str]:
    reason = _read_text(data, "reason")
    yield _DENIAL_REASONS.get(reason, reason)
    yield _format_count(data, "count", "time") if data.get("count") != 1 else ""


def _describe_unknown_kind(data: Mapping[str, Any]) -> Iterator[str]:
    from docshare.contract.webhooks import DATA_KEYS

    for key in data:
        if key not in DATA_KEYS:
            yield f"{key}={_read_text(data, key)}"


_DESCRIBERS: dict[str, Callable[[Mapping[str, Any]], Iterator[str]]] = {
    "file.viewed": _describe_view,
    "file.downloaded": _describe_link,
    "gate.completed": _describe_gate_response,
    "note.created": _describe_note,
    "receipt.confirmed": _describe_receipt,
    "file.burned": _describe_burn,
    "content.replaced": _describe_replacement,
    "invite.viewed": _describe_invite_view,
    "proofing.updated": _describe_proofing,
    "access.denied": _describe_denial,
}


def _read_text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    return "" if value is None else clip(clean(str(value)), _MAX_TEXT_CELLS)


def _describe_page(data: Mapping[str, Any]) -> str:
    page = data.get("pageNumber")
    return f" on page {page}" if isinstance(page, int) else ""


def _format_count(data: Mapping[str, Any], key: str, what: str) -> str:
    count = data.get(key)
    return "" if not isinstance(count, int) else format_plural(count, what)
