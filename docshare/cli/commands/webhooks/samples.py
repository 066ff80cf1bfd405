"""Example events: the data keys of each kind, and sample envelopes for testing a receiver."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.contract import event_values
from docshare.contract.event_values import ValueParser
from docshare.contract.plans import Plan
from docshare.contract.webhooks import (
    DATA_KEYS,
    DENIED_KIND,
    DENIED_OPTIONAL_KEYS,
    DENIED_REASONS,
    DENIED_REQUIRED_KEYS,
    GATE_SOURCES,
    KINDS,
    PROOFING_KINDS,
    TEST_KIND,
)

_FORM_KEY = "fields"  # the one key whose value is an object: fields.company=Acme
_TIMESTAMP = "timestamp"
_GATE_KEY = re.compile("[a-z][a-z0-9_]*", re.ASCII)


class SampleKind(NamedTuple):
    """One kind of event. ``always`` and ``when`` are the required and optional keys of its data, ``plan`` is the lowest
    plan of the owner with which it is sent."""

    kind: str
    trigger: str
    always: tuple[str, ...]
    when: tuple[str, ...] = ()
    plan: Plan = Plan.FREE
    subscribable: bool = True

    @property
    def keys(self) -> tuple[str, ...]:
        """Return all keys of the data in the order sent."""
        return (*self.always, *self.when)


ROWS: tuple[SampleKind, ...] = (
    *(
        SampleKind(name, kind.trigger_text, (*DATA_KEYS, *kind.required_keys), kind.optional_keys, kind.plan)
        for name, kind in KINDS.items()
    ),
    SampleKind(TEST_KIND, "the owner tests a webhook; sent only to that webhook", (), DATA_KEYS, subscribable=False),
    SampleKind(
        DENIED_KIND,
        "a reader is denied access; only in the activity feed",
        (*DATA_KEYS, *DENIED_REQUIRED_KEYS),
        DENIED_OPTIONAL_KEYS,
        subscribable=False,
    ),
)
"""The nine kinds that webhooks can subscribe to, and the two that they cannot."""

SENT_KINDS: dict[str, SampleKind] = {row.kind: row for row in ROWS if row.kind != DENIED_KIND}
"""The kinds that are sent to receivers."""


class _Key(NamedTuple):
    example: Any
    read: ValueParser = event_values.parse_text


_KEYS: dict[str, _Key] = {
    "fileUuid": _Key("0b8e7d5c-3f0e-4f4f-9d0c-2a7b1f6c8e11", event_values.parse_uuid),
    "fileName": _Key("Q3 report.pdf"),
    "pagesViewed": _Key(7, event_values.whole_number_parser(0)),
    "timeMs": _Key(102_000, event_values.whole_number_parser(0)),
    "sessionId": _Key("3f2b8c1e-6c51-4d0b-9a53-0d4f8f1f2a77", event_values.parse_uuid),
    "variantUuid": _Key("6f1c2e9a-3b0d-4d53-9a51-0c8d3f5f8f10", event_values.parse_uuid),
    "variantLabel": _Key("Acme"),
    "source": _Key("form", event_values.word_parser(*GATE_SOURCES)),
    "email": _Key("ada@example.com"),
    "fields": _Key({"email": "ada@example.com", "company": "Analytical Engines"}),
    "author": _Key("Ada"),
    "body": _Key("Is this the final figure?"),
    "pageNumber": _Key(3, event_values.whole_number_parser(1)),
    "name": _Key("Ada Lovelace"),
    "contentVersion": _Key(2, event_values.whole_number_parser(1)),
    "kind": _Key("mark", event_values.word_parser(*PROOFING_KINDS)),
    "viewer": _Key("Reader 7F3A"),
    "reason": _Key("password", event_values.word_parser(*DENIED_REASONS)),
    "count": _Key(1, event_values.whole_number_parser(1)),
}
_EXAMPLE_TIME = "2026-11-21T09:00:00.000Z"


def build_envelope(kind: str, values: Mapping[str, str], *, minimal: bool = False) -> dict[str, Any]:
    """Return an example of ``kind``, with keys in the order sent.

    ``values``, such as ``{"timeMs": "5000", "fields.company": "Acme"}``, replace those of the example. ``minimal``
    omits the optional keys that are not in ``values``. Raise Stop (2) for an unknown kind or key, or an invalid value.
    """
    row = SENT_KINDS.get(kind)
    if row is None:
        raise Stop(ExitCode.USAGE, f"unknown kind of event {kind!r}", hint=f"Kinds: {', '.join(SENT_KINDS)}.")
    given = dict(_parse_values(row, values))
    keys = (*row.always, *(key for key in row.when if key in given or not minimal))
    data = {key: given.get(key, _KEYS[key].example) for key in keys}
    return {"event": kind, _TIMESTAMP: given.get(_TIMESTAMP, _EXAMPLE_TIME), "data": data}


def parse_assignments(words: Iterable[str]) -> dict[str, str]:
    """Parse ``--set key=value``. Raise Stop (2) for an argument without ``=`` and for a duplicate key."""
    found: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise Stop(ExitCode.USAGE, f"--set {word} must have the form KEY=VALUE")
        if key in found:
            raise Stop(ExitCode.USAGE, f"--set {key} is given twice")
        found[key] = value
    return found


def _parse_values(row: SampleKind, values: Mapping[str, str]) -> Iterable[tuple[str, Any]]:
    form: dict[str, str] = {}
    for key, text in values.items():
        name, dot, inner = key.partition(".")
        if dot and name == _FORM_KEY and name in row.keys and _GATE_KEY.fullmatch(inner):
            form[inner] = text
        elif key == _TIMESTAMP:
            yield key, _parse_value(key, event_values.parse_time_text, text)
        elif key in row.keys and key != _FORM_KEY:
            yield key, _parse_value(key, _KEYS[key].read, text)
        else:
            raise _unknown_key_error(row, key)
    if form:
        yield _FORM_KEY, form


def _parse_value(key: str, read: ValueParser, text: str) -> Any:
    try:
        return read(text)
    except ValueError as error:
        raise Stop(ExitCode.USAGE, f"--set {key}: {text!r} is not {error}") from None


def _unknown_key_error(row: SampleKind, key: str) -> Stop:
    keys = ", ".join("fields.NAME" if known == _FORM_KEY else known for known in (_TIMESTAMP, *row.keys))
    return Stop(ExitCode.USAGE, f"{row.kind} has no key {key!r}", hint=f"Keys: {keys}.")
