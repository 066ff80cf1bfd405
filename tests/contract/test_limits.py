"""Expected limits that do not depend on the plan, written by hand."""

import pytest

from docshare.contract import limits

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000

NUMBERS = {
    "MANAGE_TOKEN_MS": 30 * DAY,
    "CLAIM_TOKEN_MS": 30 * DAY,
    "ACCESS_TOKEN_MS": HOUR,
    "AUTHORIZATION_CODE_MS": MINUTE,
    "DEVICE_CODE_MS": 15 * MINUTE,
    "DEVICE_POLL_MS": 5_000,
    "REFRESH_TOKEN_MS": 90 * DAY,
    "REFRESH_GRACE_MS": 10_000,
    "LOGIN_LINK_MS": 10 * MINUTE,
    "INVITATION_LINK_MS": 7 * DAY,
    "RESET_LINK_MS": 60 * MINUTE,
    "CONFIRMATION_LINK_MS": DAY,
    "MANAGE_EXPIRY_MS": 7 * DAY,
    "DESIGN_EXPIRY_MS": 365 * DAY,
    "ANONYMOUS_EXPIRY_MS": 7 * DAY,
    "BURN_DELAY_MS": 30 * MINUTE,
    "VARIANTS_PER_FILE": 200,
    "VARIANT_LABEL_CHARS": 200,
    "ASSETS_PER_FILE": 10,
    "INVITES_PER_FILE": 1000,
    "MAX_RESTRICTED_KEYS": 100,
    "INVITE_NAME_CHARS": 120,
    "PASSWORD_BYTES": 128,
    "ACCOUNT_PASSWORD_CHARS": 10,
    "VIEW_LIMIT_MAX": 1_000_000,
    "GATE_FIELDS": 5,
    "GATE_KEY_CHARS": 40,
    "GATE_LABEL_CHARS": 60,
    "GATE_VALUE_CHARS": 500,
    "GATE_DOMAINS": 20,
    "DOMAIN_CHARS": 253,
    "CTA_LABEL_CHARS": 40,
    "URL_CHARS": 2048,
    "IMPORT_URL_CHARS": 8192,
    "UNCLAIMED_RETENTION_MS": 604_800_000,
    "PALETTE_COLORS": 6,
    "RANGE_AND_WATERMARK_BYTES": 104_857_600,
    "PAGES_PER_FILE": 50_000,
    "REPORT_DAYS": 30,
    "REPORT_SESSIONS": 50,
    "ACTIVE_READER_MS": MINUTE,
    "READER_SALT_MS": 30 * DAY,
    "ACTIVITY_RETENTION_MS": 90 * DAY,
    "UNCOUNTED_RETENTION_MS": 90 * DAY,
    "BEACON_RETENTION_MS": 90 * DAY,
    "REPORT_REFERRERS": 100,
    "REPORT_CONTACTS": 1_000,
    "DENIED_COALESCE_MS": MINUTE,
    "MAX_DENIED_COUNT": 1_000,
    "DEPRECATION_NOTICE_MS": 180 * DAY,
}
RATES = [
    ("default", 120, MINUTE, "token"),
    ("webhook-test", 10, MINUTE, "token"),
    ("webhook-test", 10, MINUTE, "address"),
    ("public-qr", 60, MINUTE, "address"),
    ("address", 60, MINUTE, "address"),
    ("anonymous-uploads", 20, 60 * MINUTE, "address"),
    ("design-user", 60, MINUTE, "user"),
    ("design-address", 60, MINUTE, "address"),
    ("design-uploads", 30, DAY, "user"),
]


@pytest.mark.parametrize(("name", "number"), NUMBERS.items())
def test_limit_has_the_expected_value(name: str, number: int) -> None:
    assert getattr(limits, name) == number


def test_every_limit_is_in_the_table() -> None:
    units = {"SECOND", "MINUTE", "HOUR", "DAY", "MB"}
    stated = {name for name, value in vars(limits).items() if name.isupper() and isinstance(value, int)}
    assert stated - units == set(NUMBERS)


def test_rate_policies_are_as_expected() -> None:
    policies = [value for value in vars(limits).values() if isinstance(value, limits.RatePolicy)]
    assert [(row.name, row.limit, row.window_ms, row.per) for row in policies] == RATES


def test_rate_headers_are_as_expected() -> None:
    assert list(limits.RATE_HEADERS) == [
        "RateLimit",
        "RateLimit-Policy",
        "X-RateLimit-Limit",
        "X-RateLimit-Remaining",
        "X-RateLimit-Reset",
    ]


def test_specification_version_is_as_expected() -> None:
    assert limits.SPECIFICATION_VERSION == "1.1.0"
