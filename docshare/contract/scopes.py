"""Scopes, kinds of credentials, and all operations with the scope that each requires."""

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from docshare.contract import limits
from docshare.contract.problems import Problem

FILES_READ = "files:read"
FILES_WRITE = "files:write"
READERSHIP_READ = "readership:read"
WEBHOOKS_MANAGE = "webhooks:manage"
PROFILE = "profile"

SCOPES: dict[str, str] = {
    FILES_READ: "See your files and download them",
    FILES_WRITE: "Upload, change, and delete your files",
    READERSHIP_READ: "See who read your files, and how",
    WEBHOOKS_MANAGE: "Create, list, test, and delete your webhooks",
    PROFILE: "See your account and plan",
}
"""Scope -> its description on the consent page."""

RESTRICTED_KEY_PREFIX = "ds_rk_"
"""The start of an API key with fewer scopes, optionally for one file and with an end. Its lane is ``API_KEY``."""
CREDENTIAL_CHARS = 32  # random base62 characters after the prefix; more than 128 bits
DEVICE_GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code"  # RFC 8628
CHALLENGE = "Bearer"  # the WWW-Authenticate header of every 401 and 403


class Lane(Enum):
    """The kinds of credentials."""

    API_KEY = "api-key"
    OAUTH = "oauth"
    REFRESH = "refresh-token"
    MANAGE = "manage-token"
    CLAIM = "claim-token"
    DESIGN = "design-jwt"
    SESSION = "session"


class LaneProperties(NamedTuple):
    """``prefix``: the start of the token, for secret scanners (None: issued by others); ``bearer``: whether it is
    sent in the Authorization header; ``scopes``: the scopes it can have; ``is_limited_to_grant``: True if it has only
    the scopes granted to it, False if it has all of ``scopes``; ``lifetime_ms``: None if it does not expire."""

    prefix: str | None
    bearer: bool
    scopes: frozenset[str]
    is_limited_to_grant: bool = False
    lifetime_ms: int | None = None


_ALL_SCOPES = frozenset(SCOPES)  # personal API keys have all scopes, including those added later
_NO_SCOPES: frozenset[str] = frozenset()

LANES: dict[Lane, LaneProperties] = {
    Lane.API_KEY: LaneProperties("ds_live_", True, _ALL_SCOPES),
    Lane.OAUTH: LaneProperties(
        "ds_at_", True, _ALL_SCOPES, is_limited_to_grant=True, lifetime_ms=limits.ACCESS_TOKEN_MS
    ),
    Lane.REFRESH: LaneProperties("ds_rt_", False, _NO_SCOPES, lifetime_ms=limits.REFRESH_TOKEN_MS),
    Lane.MANAGE: LaneProperties("ds_mt_", True, _NO_SCOPES, lifetime_ms=limits.MANAGE_TOKEN_MS),
    Lane.CLAIM: LaneProperties("ds_ct_", False, _NO_SCOPES, lifetime_ms=limits.CLAIM_TOKEN_MS),
    Lane.DESIGN: LaneProperties(None, True, _NO_SCOPES),
    Lane.SESSION: LaneProperties(None, False, _ALL_SCOPES),
}

BEARER = frozenset({Lane.API_KEY, Lane.OAUTH})
_OR_MANAGE = BEARER | {Lane.MANAGE}  # files.replace recognizes a manage token only to reject it with 403
_OR_SESSION = BEARER | {Lane.SESSION}
_SESSION = frozenset({Lane.SESSION})
_DESIGN = frozenset({Lane.DESIGN})
_PUBLIC: frozenset[Lane] = frozenset()


class Operation(NamedTuple):
    """One route: the required ``scope`` (None: no scope), the accepted ``lanes`` of credentials (empty: no credential
    needed), and ``is_extension`` for routes marked ``x-addition`` in openapi.yaml, which other servers may not have."""

    method: str
    path: str
    scope: str | None = None
    lanes: frozenset[Lane] = BEARER
    is_extension: bool = False


_V1 = "/api/v1"
_FILE = _V1 + "/files/{uuid}"
_WEBHOOK = _V1 + "/webhooks/{uuid}"
_OWN_FILE = "/api/account/files/{uuid}"

OPERATIONS: dict[str, Operation] = {
    "discovery.get": Operation("GET", _V1, lanes=_PUBLIC),
    "openapi.get": Operation("GET", _V1 + "/openapi.json", lanes=_PUBLIC),
    "files.upload": Operation("POST", _V1 + "/files", FILES_WRITE),
    "files.list": Operation("GET", _V1 + "/files", FILES_READ),
    "files.import": Operation("POST", _V1 + "/files/import", FILES_WRITE),
    "files.claim": Operation("POST", _V1 + "/files/claim", FILES_WRITE),
    "files.get": Operation("GET", _FILE, FILES_READ),
    "files.delete": Operation("DELETE", _FILE, FILES_WRITE),
    "files.settings": Operation("PUT", _FILE + "/settings", FILES_WRITE, _OR_MANAGE),
    "files.download": Operation("GET", _FILE + "/content", FILES_READ),
    "files.replace": Operation("POST", _FILE + "/content", FILES_WRITE, _OR_MANAGE),
    "files.qr": Operation("GET", _FILE + "/qr-code", FILES_READ),
    "files.restore": Operation("POST", _FILE + "/restore", FILES_WRITE, is_extension=True),
    "assets.create": Operation("POST", _FILE + "/assets", FILES_WRITE),
    "account.get": Operation("GET", _V1 + "/user", PROFILE),
    "keys.list": Operation("GET", _V1 + "/keys", PROFILE, is_extension=True),
    "keys.create": Operation("POST", _V1 + "/keys", PROFILE, is_extension=True),
    "keys.revoke": Operation("DELETE", _V1 + "/keys/{uuid}", PROFILE, is_extension=True),
    "design.import": Operation("POST", _V1 + "/design-tool/import", lanes=_DESIGN),
    "design.status": Operation("POST", _V1 + "/design-tool/design/status", lanes=_DESIGN),
    "variants.list": Operation("GET", _FILE + "/variants", FILES_READ),
    "variants.create": Operation("POST", _FILE + "/variants", FILES_WRITE),
    "variants.update": Operation("PUT", _FILE + "/variants/{variantUuid}", FILES_WRITE),
    "variants.delete": Operation("DELETE", _FILE + "/variants/{variantUuid}", FILES_WRITE),
    "readership.report": Operation("GET", _FILE + "/readership", READERSHIP_READ),
    "readership.pages": Operation("GET", _FILE + "/readership/pages", READERSHIP_READ),
    "readership.marks": Operation("GET", _FILE + "/page-marks", READERSHIP_READ),
    "readership.annotations": Operation("GET", _FILE + "/annotations", READERSHIP_READ),
    "readership.feedback": Operation("GET", _FILE + "/feedback", READERSHIP_READ, is_extension=True),
    "readership.sessions": Operation("GET", _FILE + "/readership/sessions", READERSHIP_READ, is_extension=True),
    "readership.session": Operation(
        "GET", _FILE + "/readership/sessions/{sessionId}", READERSHIP_READ, is_extension=True
    ),
    "invites.list": Operation("GET", _FILE + "/invites", READERSHIP_READ, is_extension=True),
    "invites.create": Operation("POST", _FILE + "/invites", FILES_WRITE, is_extension=True),
    "events.list": Operation("GET", _V1 + "/events", READERSHIP_READ),
    "gate.list": Operation("GET", _V1 + "/gate-responses", READERSHIP_READ),
    "activity.list": Operation("GET", _V1 + "/activity", READERSHIP_READ, is_extension=True),
    "webhooks.create": Operation("POST", _V1 + "/webhooks", WEBHOOKS_MANAGE),
    "webhooks.list": Operation("GET", _V1 + "/webhooks", WEBHOOKS_MANAGE),
    "webhooks.delete": Operation("DELETE", _WEBHOOK, WEBHOOKS_MANAGE),
    "webhooks.test": Operation("POST", _WEBHOOK + "/test", WEBHOOKS_MANAGE),
    "webhooks.enable": Operation("POST", _WEBHOOK + "/enable", WEBHOOKS_MANAGE, is_extension=True),
    "webhooks.deliveries": Operation("GET", _WEBHOOK + "/deliveries", WEBHOOKS_MANAGE, is_extension=True),
    "webhooks.redeliver": Operation(
        "POST", _WEBHOOK + "/deliveries/{id}/redeliver", WEBHOOKS_MANAGE, is_extension=True
    ),
    # The session routes accept the session cookie with its CSRF token, or a bearer credential.
    "session.webhooks.create": Operation("POST", "/api/webhooks", WEBHOOKS_MANAGE, _OR_SESSION),
    "session.webhooks.list": Operation("GET", "/api/webhooks", WEBHOOKS_MANAGE, _OR_SESSION),
    "session.webhooks.delete": Operation("DELETE", "/api/webhooks/{uuid}", WEBHOOKS_MANAGE, _OR_SESSION),
    "session.webhooks.test": Operation("POST", "/api/webhooks/{uuid}/test", WEBHOOKS_MANAGE, _OR_SESSION),
    # The scripts of the owner's pages use these routes; API keys use the routes above.
    "session.files.upload": Operation("POST", "/api/account/files", FILES_WRITE, _SESSION, is_extension=True),
    "session.files.replace": Operation("POST", _OWN_FILE + "/content", FILES_WRITE, _SESSION, is_extension=True),
    "session.assets.create": Operation("POST", _OWN_FILE + "/assets", FILES_WRITE, _SESSION, is_extension=True),
    "public.qr": Operation("GET", "/api/files/{uuid}/qr-code", lanes=_PUBLIC),
    "public.metadata": Operation("GET", "/api/files/{uuid}/metadata", lanes=_PUBLIC),
    "public.upload": Operation("POST", "/api/files", lanes=_PUBLIC, is_extension=True),
    "oembed.get": Operation("GET", "/oembed", lanes=_PUBLIC),
    "oauth.authorize": Operation("GET", "/oauth/authorize", lanes=_PUBLIC),
    "oauth.token": Operation("POST", "/oauth/token", lanes=_PUBLIC),
    "oauth.revoke": Operation("POST", "/oauth/revoke", lanes=_PUBLIC),
    "oauth.device": Operation("POST", "/oauth/device_authorization", lanes=_PUBLIC, is_extension=True),
    "oauth.server": Operation("GET", "/.well-known/oauth-authorization-server", lanes=_PUBLIC),
    "oauth.resource": Operation("GET", "/.well-known/oauth-protected-resource", lanes=_PUBLIC, is_extension=True),
}
"""Operation -> its route. Paths are written as in openapi.yaml."""


def held_scopes(lane: Lane, granted: Iterable[str] = ()) -> frozenset[str]:
    """Return the scopes of a credential of ``lane``; ``granted``, the scopes granted to it, matters for OAuth only."""
    row = LANES[lane]
    return row.scopes & frozenset(granted) if row.is_limited_to_grant else row.scopes


def normalize_scopes(asked: str | None) -> str | None:
    """Return the space-separated scopes of ``asked`` without duplicates in the order of ``SCOPES``; None if it is empty
    or contains an unknown scope. There is no default: an app must name the scopes it wants."""
    words = set((asked or "").split())
    return " ".join(scope for scope in SCOPES if scope in words) if words and SCOPES.keys() >= words else None


def scope_problem(scope: str) -> Problem:
    """Return the problem of a credential without ``scope``, with the challenge that names the scope."""
    challenge = f'{CHALLENGE} error="insufficient_scope", scope="{scope}"'
    detail = f"This credential lacks the scope '{scope}'."
    return Problem("insufficient_scope", detail, headers={"WWW-Authenticate": challenge})
