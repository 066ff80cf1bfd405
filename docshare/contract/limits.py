"""Limits, lifetimes, and rate policies that are the same on every plan.

Durations are in milliseconds, sizes in bytes (MB is 1024 * 1024). Limits that differ by plan are in ``plans``, those of
one table in its module (``webhooks``, ``streams``, ``media``).
"""

from typing import NamedTuple

from docshare.contract.plans import DAY, MB

SECOND = 1000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE


class RatePolicy(NamedTuple):
    """At most ``limit`` requests in any ``window_ms``, counted separately per Authorization header value (``token``),
    per network ``address``, or per ``user`` of the design tool."""

    name: str
    limit: int
    window_ms: int
    per: str


# Rates. The window moves: the limit holds in any 60 seconds, not only per calendar minute.
REQUESTS = RatePolicy("default", 120, MINUTE, "token")
WEBHOOK_TEST = RatePolicy("webhook-test", 10, MINUTE, "token")
SESSION_WEBHOOK_TEST = RatePolicy("webhook-test", 10, MINUTE, "address")
PUBLIC_QR = RatePolicy("public-qr", 60, MINUTE, "address")
# Failed credentials and unknown links are counted per address; otherwise each guess with a new token would be free.
ADDRESS = RatePolicy("address", 60, MINUTE, "address")
# Anonymous uploads use disk space, so they are limited per address.
ANONYMOUS_UPLOADS = RatePolicy("anonymous-uploads", 20, HOUR, "address")
# Defaults of settings of the server.
DESIGN_USER = RatePolicy("design-user", 60, MINUTE, "user")
DESIGN_ADDRESS = RatePolicy("design-address", 60, MINUTE, "address")
DESIGN_UPLOADS = RatePolicy("design-uploads", 30, DAY, "user")

RATE_HEADERS: tuple[str, ...] = (
    "RateLimit",
    "RateLimit-Policy",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
)

# Lifetimes of credentials
MANAGE_TOKEN_MS = 30 * DAY
CLAIM_TOKEN_MS = 30 * DAY
ACCESS_TOKEN_MS = HOUR
AUTHORIZATION_CODE_MS = 60 * SECOND
DEVICE_CODE_MS = 15 * MINUTE
DEVICE_POLL_MS = 5 * SECOND
REFRESH_TOKEN_MS = 90 * DAY
REFRESH_GRACE_MS = 10 * SECOND
LOGIN_LINK_MS = 10 * MINUTE
INVITATION_LINK_MS = 7 * DAY
RESET_LINK_MS = HOUR
CONFIRMATION_LINK_MS = DAY

# Lifetimes of files
MANAGE_EXPIRY_MS = 7 * DAY  # from now: the latest deleteAt that a manage token can set
DESIGN_EXPIRY_MS = 365 * DAY
ANONYMOUS_EXPIRY_MS = 7 * DAY
BURN_DELAY_MS = 30 * MINUTE  # from reaching the view limit to deleting the bytes
UNCLAIMED_RETENTION_MS = 7 * DAY  # how long an expired file without an owner can still be claimed

# Counts and lengths
VARIANTS_PER_FILE = 200
VARIANT_LABEL_CHARS = 200
ASSETS_PER_FILE = 10
INVITES_PER_FILE = 1_000
MAX_RESTRICTED_KEYS = 100
INVITE_NAME_CHARS = 120
PASSWORD_BYTES = 128
ACCOUNT_PASSWORD_CHARS = 10  # minimum, for passwords of accounts (not of links)
VIEW_LIMIT_MAX = 1_000_000
GATE_FIELDS = 5
GATE_KEY_CHARS = 40
GATE_LABEL_CHARS = 60
GATE_VALUE_CHARS = 500
GATE_DOMAINS = 20
DOMAIN_CHARS = 253
CTA_LABEL_CHARS = 40
URL_CHARS = 2048
IMPORT_URL_CHARS = 8192  # signed export addresses are longer than the addresses of webhooks
PALETTE_COLORS = 6

# Sizes
RANGE_AND_WATERMARK_BYTES = 100 * MB
PAGES_PER_FILE = 50_000

# Readership and activity
REPORT_DAYS = 30
REPORT_SESSIONS = 50
ACTIVE_READER_MS = 60 * SECOND
READER_SALT_MS = 30 * DAY
ACTIVITY_RETENTION_MS = 90 * DAY
UNCOUNTED_RETENTION_MS = 90 * DAY  # sessions that were not counted; docshare explain reads them
BEACON_RETENTION_MS = 90 * DAY  # after the end of the session; docshare explain reads them
REPORT_REFERRERS = 100
REPORT_CONTACTS = 1_000  # the newest ones; the gate stream has all of them
DENIED_COALESCE_MS = MINUTE
MAX_DENIED_COUNT = 1_000  # the highest count of one access.denied event: this many or more

# Versioning
DEPRECATION_NOTICE_MS = 180 * DAY
SPECIFICATION_VERSION = "1.1.0"
