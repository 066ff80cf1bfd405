"""Expected settings of a file and keys of the File object, written by hand."""

from typing import Any

import pytest
from hypothesis import given

from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.contract.settings import (
    SETTINGS,
    parse_settings,
    parse_value,
    required_plan,
)
from tests.contract.hostile_values import json_values, list_rejection_codes, run_parser

ASSET = "6f1d3c1e-9d3b-4f0a-8f57-0a1b2c3d4e5f"
FORM = [{"key": "mail", "label": "Mail", "type": "email", "required": True}]

# name, plan, default (None: unset), values that clear the setting, when the File object shows it
ROWS: list[tuple[str, str, Any, tuple[Any, ...], str]] = [
    ("viewerMode", "free", "standard", (), "always"),
    ("password", "basic", None, ("",), "never"),
    ("allowDownload", "free", True, (), "always"),
    ("showExpiry", "free", True, (), "always"),
    ("readerChoice", "free", None, (None,), "always"),
    ("showSender", "free", True, (), "always"),
    ("requireEmail", "pro", False, (), "always"),
    ("notifyOnView", "basic", False, (), "always"),
    ("deleteAt", "free", None, (), "set"),
    ("neverExpire", "free", False, (), "never"),
    ("viewLimit", "basic", None, (0,), "set"),
    ("pageRange", "pro", None, ({"from": 0, "to": 0},), "set"),
    ("gateFields", "pro", None, ([], None), "set"),
    ("gateDomains", "pro", None, ([],), "set"),
    ("askReceipt", "basic", False, (), "always"),
    ("commentsEnabled", "pro", False, (), "always"),
    ("commentsAllowPublic", "pro", False, (), "always"),
    ("notifyOnComment", "pro", False, (), "always"),
    ("marksEnabled", "pro", False, (), "always"),
    ("annotationsEnabled", "pro", False, (), "always"),
    ("watermark", "pro", False, (), "always"),
    ("slug", "pro", None, ("",), "set"),
    ("viewerSettings", "basic", {}, ({}, []), "always"),
    ("detachDesignToolDesign", "free", False, (), "never"),
    ("designToolUpdatesEnabled", "free", False, (), "always"),
]

FILE = [
    "uuid", "shortId", "slug", "originalName", "size", "mimeType", "createdAt", "deleteAt", "viewCount", "viewerMode",
    "protected", "allowDownload", "requireEmail", "notifyOnView", "contentVersion", "revisions",
    "totalPages", "updatedAt", "viewsConsumed", "viewerSettings",
    "askReceipt", "watermark", "showExpiry", "readerChoice", "showSender", "commentsEnabled", "commentsAllowPublic",
    "notifyOnComment", "marksEnabled", "annotationsEnabled", "designToolUpdatesEnabled",
    "viewLimit", "burnedAt", "gateFields", "gateDomains", "pageRange", "shareUrl", "sha256",
]  # fmt: skip
FILE_UNSET = [
    "shortId", "slug", "deleteAt", "revisions", "viewLimit", "burnedAt", "gateFields", "gateDomains", "pageRange",
]  # fmt: skip


@pytest.mark.parametrize(("name", "tier", "default", "clears", "shown"), ROWS, ids=[row[0] for row in ROWS])
def test_setting_has_the_expected_plan_default_and_visibility(
    name: str, tier: str, default: Any, clears: tuple[Any, ...], shown: str
) -> None:
    row = SETTINGS[name]
    assert (row.name, row.plan.tier, row.default, row.clears, row.visibility) == (name, tier, default, clears, shown)
    assert type(row.default) is type(default)


def test_all_settings_are_listed_in_order() -> None:
    assert list(SETTINGS) == [row[0] for row in ROWS]


def test_a_visible_setting_is_a_file_key_and_optional_only_if_unset() -> None:
    assert {row[0] for row in ROWS if row[4] != "never"} <= set(FILE)
    assert {row[0] for row in ROWS if row[4] == "set"} <= set(FILE_UNSET)
    assert not {row[0] for row in ROWS if row[4] == "never"} & set(FILE)


@pytest.mark.parametrize(
    ("name", "sent", "stored", "plan"),
    [
        ("viewerMode", "flipbook", "flipbook", Plan.FREE),
        ("password", "secret", "secret", Plan.BASIC),
        ("allowDownload", False, False, Plan.FREE),
        ("showExpiry", False, False, Plan.FREE),
        ("readerChoice", False, False, Plan.FREE),
        ("readerChoice", None, None, Plan.FREE),
        ("showSender", False, False, Plan.FREE),
        ("requireEmail", True, True, Plan.PRO),
        ("notifyOnView", True, True, Plan.BASIC),
        ("deleteAt", "1970-01-01T00:00:01Z", 1000, Plan.FREE),
        ("neverExpire", True, True, Plan.FREE),
        ("viewLimit", 1_000_000, 1_000_000, Plan.BASIC),
        ("pageRange", {"from": 1, "to": 3}, {"from": 1, "to": 3}, Plan.PRO),
        ("gateFields", FORM, FORM, Plan.PRO),
        ("gateDomains", ["Example.com"], ["example.com"], Plan.PRO),
        ("askReceipt", True, True, Plan.BASIC),
        ("commentsEnabled", True, True, Plan.PRO),
        ("commentsAllowPublic", True, True, Plan.PRO),
        ("notifyOnComment", True, True, Plan.PRO),
        ("marksEnabled", True, True, Plan.PRO),
        ("annotationsEnabled", True, True, Plan.PRO),
        ("watermark", True, True, Plan.PRO),
        ("slug", "q3", "q3", Plan.PRO),
        ("viewerSettings", {"flip": {"speedMs": 1}}, {"flip": {"speedMs": 200}}, Plan.BASIC),
        ("viewerSettings", {"ga4Id": "G-AB12CD34EF"}, {"ga4Id": "G-AB12CD34EF"}, Plan.PRO),
        ("detachDesignToolDesign", True, True, Plan.FREE),
        ("designToolUpdatesEnabled", True, True, Plan.FREE),
    ],
)
def test_a_value_is_parsed_and_requires_its_plan(name: str, sent: Any, stored: Any, plan: Plan) -> None:
    found = parse_value(name, sent)
    assert found == stored
    assert required_plan(name, found) is plan


@pytest.mark.parametrize(("name", "value"), [(row[0], value) for row in ROWS for value in row[3]])
def test_a_clearing_value_clears_and_requires_no_plan(name: str, value: Any) -> None:
    found = parse_value(name, value)
    assert found == ({} if name == "viewerSettings" else None)
    assert required_plan(name, found) is Plan.FREE


@pytest.mark.parametrize("name", [row[0] for row in ROWS if row[2] is False])
def test_disabling_a_setting_requires_no_plan(name: str) -> None:
    assert required_plan(name, parse_value(name, False)) is Plan.FREE


def test_default_viewer_settings_require_no_plan() -> None:
    assert required_plan("viewerSettings", parse_value("viewerSettings", {"flip": {"speedMs": 450}})) is Plan.FREE


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("viewerMode", "book"),
        ("password", None),
        ("allowDownload", "yes"),
        ("viewLimit", False),
        ("viewLimit", -1),
        ("viewLimit", 1_000_001),
        ("viewLimit", 3.0),
        ("viewLimit", None),
        ("pageRange", None),
        ("pageRange", {"from": False, "to": False}),
        ("pageRange", {"from": 0, "to": 2}),
        ("gateFields", {}),
        ("gateDomains", None),
        ("slug", "API"),
        ("slug", None),
        ("deleteAt", ""),
        ("deleteAt", None),
        ("neverExpire", 1),
        ("viewerSettings", None),
    ],
)
def test_an_invalid_value_is_a_bad_request_that_names_the_key(name: str, value: Any) -> None:
    with pytest.raises(Problem) as caught:
        parse_settings({name: value})
    assert (caught.value.code, name in caught.value.detail) == ("bad_request", True)


def test_parse_settings_returns_the_sent_keys_and_ignores_unknown_ones() -> None:
    body = {"slug": "", "future": {"x": 1}, "viewerMode": "swipe", "viewerSettings": []}
    assert parse_settings(body) == {"viewerMode": "swipe", "slug": None, "viewerSettings": {}}
    assert parse_settings({}) == {}


@pytest.mark.parametrize("body", [None, [], "x", 1, True])
def test_a_body_that_is_not_an_object_is_a_bad_request(body: Any) -> None:
    with pytest.raises(Problem) as caught:
        parse_settings(body)
    assert caught.value.code == "bad_request"


@pytest.mark.parametrize("name", [row[0] for row in ROWS])
def test_hostile_values_raise_only_problems(name: str) -> None:
    assert list_rejection_codes(lambda value: parse_settings({name: value})) == {"bad_request"}


@given(json_values([row[0] for row in ROWS]))
def test_any_json_value_raises_only_problems(body: Any) -> None:
    accepted, found = run_parser(parse_settings, body)
    assert (
        all(required_plan(name, value) in Plan for name, value in found.items()) if accepted else found == "bad_request"
    )
