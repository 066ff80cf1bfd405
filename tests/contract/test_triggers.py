"""The values that can be set for a triggered test event."""

import pytest

from docshare.contract.problems import Problem
from docshare.contract.triggers import DESTRUCTIVE, SETTABLE, parse_values

# The values that a reader determines for each kind. The server sets ids, file, variant and source.
KEYS = {
    "file.viewed": ["pagesViewed", "timeMs", "email", "fields"],
    "file.downloaded": ["email", "fields"],
    "gate.completed": ["email", "fields"],
    "note.created": ["author", "body", "pageNumber"],
    "receipt.confirmed": ["name"],
    "file.burned": [],
    "content.replaced": [],
    "invite.viewed": ["email", "name"],
    "proofing.updated": ["kind", "pageNumber"],
}


def test_each_kind_has_the_expected_keys() -> None:
    assert {kind: list(keys) for kind, keys in SETTABLE.items()} == KEYS


def test_destructive_kinds_are_as_expected() -> None:
    assert set(DESTRUCTIVE) == {"file.burned", "content.replaced"}


def test_values_are_parsed_by_key() -> None:
    assert parse_values("file.viewed", {"timeMs": "5000", "pagesViewed": "2"}) == {"timeMs": 5000, "pagesViewed": 2}
    assert parse_values("note.created", {"body": "7"}) == {"body": "7"}
    given = {"email": "a@b.example", "fields.firm": "Acme", "fields.a": ""}
    assert parse_values("gate.completed", given) == {"email": "a@b.example", "fields": {"firm": "Acme", "a": ""}}


@pytest.mark.parametrize(
    ("kind", "key", "text"),
    [
        ("file.viewed", "timeMs", "0999"),
        ("file.viewed", "timeMs", "14400001"),
        ("file.viewed", "timeMs", "\u0661000"),
        ("file.viewed", "pagesViewed", "0"),
        ("file.viewed", "pagesViewed", ""),
        ("file.viewed", "", "1"),
        ("file.viewed", "pagesViewed.x", "1"),
        ("gate.completed", "fields", "x"),
        ("gate.completed", "fields.", "x"),
        ("gate.completed", "source", "form"),
        ("proofing.updated", "kind", "note"),
        ("webhook.test", "x", "1"),
        ("access.denied", "reason", "password"),
    ],
)
def test_unknown_keys_and_invalid_values_are_rejected(kind: str, key: str, text: str) -> None:
    with pytest.raises(Problem) as caught:
        parse_values(kind, {key: text})
    assert caught.value.code == "bad_request"
    assert caught.value.hint.startswith(("Keys: ", "Kinds: "))
