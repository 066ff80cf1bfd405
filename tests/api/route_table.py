"""The routes under /api, typed by hand."""

ROUTES: tuple[tuple[str, str, str | None], ...] = (
    ("GET", "/api/v1", None),
    ("GET", "/api/v1/openapi.json", None),
    ("POST", "/api/v1/files", "files:write"),
    ("GET", "/api/v1/files", "files:read"),
    ("POST", "/api/v1/files/import", "files:write"),
    ("GET", "/api/v1/files/{uuid}", "files:read"),
    ("DELETE", "/api/v1/files/{uuid}", "files:write"),
    ("PUT", "/api/v1/files/{uuid}/settings", "files:write"),
    ("GET", "/api/v1/files/{uuid}/content", "files:read"),
    ("POST", "/api/v1/files/{uuid}/content", "files:write"),
    ("POST", "/api/v1/files/{uuid}/restore", "files:write"),
    ("POST", "/api/v1/files/claim", "files:write"),
    ("GET", "/api/v1/files/{uuid}/qr-code", "files:read"),
    ("POST", "/api/v1/files/{uuid}/assets", "files:write"),
    ("GET", "/api/v1/files/{uuid}/variants", "files:read"),
    ("POST", "/api/v1/files/{uuid}/variants", "files:write"),
    ("PUT", "/api/v1/files/{uuid}/variants/{variantUuid}", "files:write"),
    ("DELETE", "/api/v1/files/{uuid}/variants/{variantUuid}", "files:write"),
    ("GET", "/api/v1/files/{uuid}/invites", "readership:read"),
    ("POST", "/api/v1/files/{uuid}/invites", "files:write"),
    ("GET", "/api/files/{uuid}/qr-code", None),
    ("GET", "/api/files/{uuid}/metadata", None),
    ("POST", "/api/files", None),
    ("GET", "/api/v1/files/{uuid}/readership", "readership:read"),
    ("GET", "/api/v1/files/{uuid}/readership/pages", "readership:read"),
    ("GET", "/api/v1/files/{uuid}/readership/sessions", "readership:read"),
    ("GET", "/api/v1/files/{uuid}/readership/sessions/{sessionId}", "readership:read"),
    ("POST", "/api/v1/webhooks", "webhooks:manage"),
    ("GET", "/api/v1/webhooks", "webhooks:manage"),
    ("DELETE", "/api/v1/webhooks/{uuid}", "webhooks:manage"),
    ("POST", "/api/v1/webhooks/{uuid}/test", "webhooks:manage"),
    ("POST", "/api/v1/webhooks/{uuid}/enable", "webhooks:manage"),
    ("GET", "/api/v1/webhooks/{uuid}/deliveries", "webhooks:manage"),
    ("POST", "/api/v1/webhooks/{uuid}/deliveries/{id}/redeliver", "webhooks:manage"),
    ("POST", "/api/webhooks", "webhooks:manage"),
    ("GET", "/api/webhooks", "webhooks:manage"),
    ("DELETE", "/api/webhooks/{uuid}", "webhooks:manage"),
    ("POST", "/api/webhooks/{uuid}/test", "webhooks:manage"),
    ("GET", "/api/v1/user", "profile"),
    ("GET", "/api/v1/keys", "profile"),
    ("POST", "/api/v1/keys", "profile"),
    ("DELETE", "/api/v1/keys/{uuid}", "profile"),
    ("GET", "/api/v1/files/{uuid}/page-marks", "readership:read"),
    ("GET", "/api/v1/files/{uuid}/annotations", "readership:read"),
    ("GET", "/api/v1/files/{uuid}/feedback", "readership:read"),
    ("GET", "/api/v1/events", "readership:read"),
    ("GET", "/api/v1/gate-responses", "readership:read"),
    ("GET", "/api/v1/activity", "readership:read"),
)
"""``(method, path, scope)``; scope None: public."""

SESSION_ONLY: tuple[tuple[str, str, str | None], ...] = (
    ("POST", "/api/account/files", "files:write"),
    ("POST", "/api/account/files/{uuid}/content", "files:write"),
    ("POST", "/api/account/files/{uuid}/assets", "files:write"),
)
"""Routes that accept only the session cookie of a signed-in browser."""

DESIGN_ONLY: tuple[tuple[str, str, str | None], ...] = (
    ("POST", "/api/v1/design-tool/import", None),
    ("POST", "/api/v1/design-tool/design/status", None),
)
"""Routes that accept only a user token of the design tool; they require no scope."""

ALL_ROUTES = (*ROUTES, *SESSION_ONLY, *DESIGN_ONLY)

GUARDED_ROUTES = tuple(row for row in ROUTES if row[2] is not None)
PUBLIC_ROUTES = tuple(row for row in ROUTES if row[2] is None)
UNKNOWN_UUID = "00000000-0000-4000-8000-000000000000"


def fill_path(path: str, name: str = UNKNOWN_UUID) -> str:
    """Fill ``path`` with ``name`` as the file and with unknown ids for the other placeholders."""
    path = path.replace("{uuid}", name).replace("{variantUuid}", UNKNOWN_UUID).replace("{sessionId}", UNKNOWN_UUID)
    return path.replace("{id}", "1")
