"""Settings that depend on more than one field."""

from typing import Any

import pytest

from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.server.rules.settings import CurrentFile, drop_defaults, read_settings, resolve_settings

DAY = 86_400_000
NOW = 1_790_000_000_000
FILE = CurrentFile(size=1000, total_pages=3, settings={})


def resolve(sent: dict[str, Any], file: CurrentFile = FILE, *, managed: bool = False) -> dict[str, Any]:
    return resolve_settings(sent, file, plan=Plan.FREE if managed else Plan.PRO, managed=managed, now=NOW)


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ({}, {}),
        ({"viewerMode": "swipe", "slug": None}, {"viewerMode": "swipe", "slug": None}),
        ({"neverExpire": True}, {"deleteAt": None}),
        ({"neverExpire": False}, {}),
        ({"deleteAt": NOW + 900 * DAY}, {"deleteAt": NOW + 900 * DAY}),
        ({"detachDesignToolDesign": True}, {}),
        ({"gateFields": None, "requireEmail": False}, {"gateFields": None, "requireEmail": False}),
        ({"gateFields": [{}], "requireEmail": False}, {"gateFields": [{}], "requireEmail": True}),
        ({"requireEmail": False}, {"requireEmail": False}),
    ],
)
def test_a_settings_write_is_resolved(sent: dict[str, Any], stored: dict[str, Any]) -> None:
    assert resolve(sent) == stored


@pytest.mark.parametrize(
    ("sent", "stored"), [(NOW - DAY, NOW - DAY), (NOW + 7 * DAY, NOW + 7 * DAY), (NOW + 7 * DAY + 1, NOW + 7 * DAY)]
)
def test_a_manage_token_limits_the_expiry_to_seven_days(sent: int, stored: int) -> None:
    assert resolve({"deleteAt": sent}, managed=True) == {"deleteAt": stored}


def test_a_manage_token_cannot_make_a_link_permanent() -> None:
    with pytest.raises(Problem) as caught:
        resolve({"neverExpire": True}, managed=True)
    assert caught.value.code == "forbidden"


@pytest.mark.parametrize(("size", "allowed"), [(100 * 1024 * 1024, True), (100 * 1024 * 1024 + 1, False)])
@pytest.mark.parametrize(
    ("sent", "code"), [({"pageRange": {"from": 1, "to": 1}}, "payload_too_large"), ({"watermark": True}, "bad_request")]
)
def test_page_range_and_watermark_are_limited_to_100_mb(
    sent: dict[str, Any], code: str, size: int, allowed: bool
) -> None:
    file = CurrentFile(size, 3, {})
    if allowed:
        assert resolve(sent, file) == sent
    else:
        with pytest.raises(Problem) as caught:
            resolve(sent, file)
        assert caught.value.code == code


@pytest.mark.parametrize(
    ("stored", "write", "after"),
    [
        ({}, {"viewerMode": "standard", "allowDownload": True, "watermark": False, "viewerSettings": {}}, {}),
        ({"watermark": True}, {"viewerMode": "swipe"}, {"viewerMode": "swipe", "watermark": True}),
        ({"pageRange": {"from": 1, "to": 1}}, {"pageRange": None}, {}),
        ({"allowDownload": False}, {"allowDownload": True}, {}),
        ({"viewerSettings": {"flip": {"rtl": True}}}, {"viewerSettings": {}}, {}),
    ],
)
def test_only_deviations_from_defaults_are_stored(
    stored: dict[str, Any], write: dict[str, Any], after: dict[str, Any]
) -> None:
    assert drop_defaults(stored, write) == after
    assert list(drop_defaults(stored, write)) == list(after)


@pytest.mark.parametrize(
    ("stored", "overrides", "name", "value"),
    [
        ("{}", "{}", "allowDownload", True),
        ("{}", "{}", "watermark", False),
        ("{}", "{}", "pageRange", None),
        ('{"allowDownload":false}', "{}", "allowDownload", False),
        ('{"allowDownload":false}', '{"allowDownload":true}', "allowDownload", True),
        ("{}", '{"allowDownload":false}', "allowDownload", False),
        ('{"pageRange":{"from":2,"to":5}}', '{"pageRange":{"from":0,"to":0}}', "pageRange", {"from": 0, "to": 0}),
        ('{"pageRange":{"from":2,"to":5}}', '{"allowDownload":false}', "pageRange", {"from": 2, "to": 5}),
    ],
)
def test_the_variant_precedes_the_file_and_the_file_precedes_the_default(
    stored: str, overrides: str, name: str, value: object
) -> None:
    assert read_settings(stored, overrides)[name] == value
