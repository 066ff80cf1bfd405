"""The table of routes under /api: the view of each operation of the contract."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flask import Response

from docshare.contract.limits import (
    ANONYMOUS_UPLOADS,
    PUBLIC_QR,
    REQUESTS,
    SESSION_WEBHOOK_TEST,
    WEBHOOK_TEST,
    RatePolicy,
)
from docshare.contract.scopes import BEARER, OPERATIONS, Lane
from docshare.server.api import (
    account,
    activity,
    assets,
    deliveries,
    design_tool,
    discovery,
    events,
    feedback,
    file_changes,
    files,
    imports,
    invites,
    keys,
    public,
    qr,
    readership,
    settings,
    variants,
    webhooks,
)
from docshare.server.api.auth import AccessRule
from docshare.server.runtime import Runtime
from docshare.server.services.files import anonymous, intake, replace
from docshare.server.services.files import assets as asset_service

# The list of files contains only that file; the other routes are about no file.
_OPEN_TO_FILE_KEYS = frozenset({"files.list", "account.get", "discovery.get", "openapi.get"})
UploadAdmission = Callable[[Runtime, Any, dict[str, str], int | None], int]
"""``(rt, caller, names in the path, minimum size of the file in bytes or None) -> maximum size of the file``; a public
route has no caller."""


@dataclass(frozen=True)
class Route:
    """A route.

    ``operation`` names a row of ``scopes.OPERATIONS``; ``view`` gets the caller, unless the route is public, and then
    the names in the path in order; ``policy`` as in ``AccessRule``; ``admit_upload`` checks an upload before its body
    is read, None if only small bodies are accepted; ``owners_only``: manage tokens are recognized and rejected.
    """

    operation: str
    view: Callable[..., Response]
    policy: RatePolicy = REQUESTS
    admit_upload: UploadAdmission | None = None
    owners_only: bool = False

    @property
    def method(self) -> str:
        """Return the HTTP method; GET also serves HEAD."""
        return OPERATIONS[self.operation].method

    @cached_property
    def access(self) -> AccessRule:
        """Return the requirements of the route."""
        row = OPERATIONS[self.operation]
        return AccessRule(
            is_public=not row.lanes,
            scope=row.scope,
            policy=self.policy,
            allows_manage_token=Lane.MANAGE in row.lanes,
            is_owner_only=self.owners_only,
            allows_session=Lane.SESSION in row.lanes,
            allows_bearer=not row.lanes or bool(row.lanes & BEARER),
            is_design_lane=Lane.DESIGN in row.lanes,
            is_safe=row.method == "GET",
            is_for_one_file=self.operation in _OPEN_TO_FILE_KEYS or self.is_about_a_file,
        )

    @cached_property
    def is_about_a_file(self) -> bool:
        """Return whether the path names a file of the caller that is not in the trash."""
        return "/files/{uuid}" in OPERATIONS[self.operation].path and self.operation != "files.restore"

    @cached_property
    def rule(self) -> str:
        """Return the path in Flask's syntax."""
        return re.sub(r"{(\w+)}", r"<\1>", OPERATIONS[self.operation].path)


def _admit_file(rt: Runtime, caller: Any, _names: dict[str, str], size: int | None) -> int:
    return intake.admit(rt, caller, size)


def _admit_content(rt: Runtime, caller: Any, names: dict[str, str], size: int | None) -> int:
    return replace.admit(rt, caller, names["uuid"], size)


def _admit_asset(rt: Runtime, caller: Any, names: dict[str, str], size: int | None) -> int:
    return asset_service.admit(rt, caller, names["uuid"], size)


ROUTES: tuple[Route, ...] = (
    Route("discovery.get", discovery.show_discovery),
    Route("openapi.get", discovery.show_openapi),
    Route("files.upload", files.upload, admit_upload=_admit_file),
    Route("files.import", imports.create_import),
    Route("files.list", files.list_files),
    Route("files.get", files.show_file),
    Route("files.delete", files.delete_file),
    Route("files.settings", settings.change_settings),
    Route("files.download", files.send_content),
    Route("files.replace", file_changes.replace_content, admit_upload=_admit_content, owners_only=True),
    Route("files.restore", file_changes.restore_file),
    Route("files.claim", file_changes.claim_file),
    Route("files.qr", qr.show_qr_code),
    Route("keys.list", keys.list_keys),
    Route("keys.create", keys.create_key),
    Route("keys.revoke", keys.revoke_key),
    Route("public.qr", qr.show_public_qr_code, policy=PUBLIC_QR),
    Route("public.metadata", public.show_metadata),
    Route(
        "public.upload",
        public.upload,
        policy=ANONYMOUS_UPLOADS,
        admit_upload=lambda rt, caller, names, size: anonymous.admit(rt, size),
    ),
    Route("assets.create", assets.create_asset, admit_upload=_admit_asset),
    Route("variants.list", variants.list_variants),
    Route("variants.create", variants.create_variant),
    Route("variants.update", variants.update_variant),
    Route("variants.delete", variants.delete_variant),
    Route("invites.list", invites.list_invites),
    Route("invites.create", invites.create_invite),
    Route("readership.marks", feedback.list_page_marks),
    Route("readership.annotations", feedback.list_annotations),
    Route("readership.feedback", feedback.show_feedback),
    Route("readership.report", readership.show_report),
    Route("readership.pages", readership.list_page_figures),
    Route("readership.sessions", readership.list_sessions),
    Route("readership.session", readership.show_session),
    Route("webhooks.create", webhooks.create_webhook),
    Route("webhooks.list", webhooks.list_webhooks),
    Route("webhooks.delete", webhooks.delete_webhook),
    Route("webhooks.test", webhooks.test_webhook, policy=WEBHOOK_TEST),
    Route("webhooks.enable", webhooks.enable_webhook),
    Route("webhooks.deliveries", deliveries.list_deliveries),
    Route("webhooks.redeliver", deliveries.redeliver),
    Route("session.webhooks.create", webhooks.create_webhook),
    Route("session.webhooks.list", webhooks.list_webhooks),
    Route("session.webhooks.delete", webhooks.delete_webhook),
    Route("session.webhooks.test", webhooks.test_webhook, policy=SESSION_WEBHOOK_TEST),
    Route("session.files.upload", files.upload, admit_upload=_admit_file),
    Route("session.files.replace", file_changes.replace_content, admit_upload=_admit_content),
    Route("session.assets.create", assets.create_asset, admit_upload=_admit_asset),
    Route("design.import", design_tool.publish),
    Route("design.status", design_tool.show_status),
    Route("account.get", account.show_account),
    Route("events.list", events.list_events),
    Route("gate.list", events.list_gate_responses),
    Route("activity.list", activity.list_activity),
)
