"""The table of routes under /api that stand: which view answers which operation of the contract."""

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
    files,
    holding,
    imports,
    invites,
    public,
    qr,
    readership,
    settings,
    variants,
    webhooks,
)
from docshare.server.api.auth import Entrance
from docshare.server.runtime import Runtime
from docshare.server.services.files import anonymous, intake, replace
from docshare.server.services.files import assets as asset_service

UploadJudge = Callable[[Runtime, Any, dict[str, str], int | None], int]
"""``(rt, caller, names in the path, least size of the file in bytes or None) -> largest file that may follow``; of a
public route there is no caller."""


@dataclass(frozen=True)
class Route:
    """``operation`` names a row of ``scopes.OPERATIONS``; ``view`` takes the caller, unless the route is public, and
    then the names in the path in their order; ``policy`` see ``Entrance``; ``upload`` judges an upload before its
    body, None where only small bodies are taken; ``owners_only``: a manage token is known here only to be refused."""

    operation: str
    view: Callable[..., Response]
    policy: RatePolicy = REQUESTS
    upload: UploadJudge | None = None
    owners_only: bool = False

    @property
    def method(self) -> str:
        """The HTTP method; GET answers HEAD too."""
        return OPERATIONS[self.operation].method

    @cached_property
    def entrance(self) -> Entrance:
        """What the route asks for."""
        row = OPERATIONS[self.operation]
        return Entrance(
            public=not row.lanes,
            scope=row.scope,
            policy=self.policy,
            manage=Lane.MANAGE in row.lanes,
            owners_only=self.owners_only,
            session=Lane.SESSION in row.lanes,
            bearer=not row.lanes or bool(row.lanes & BEARER),
            design=Lane.DESIGN in row.lanes,
            safe=row.method == "GET",
        )

    @cached_property
    def rule(self) -> str:
        """The path as Flask writes it."""
        return re.sub(r"{(\w+)}", r"<\1>", OPERATIONS[self.operation].path)


def _new_file(rt: Runtime, caller: Any, _names: dict[str, str], size: int | None) -> int:
    return intake.admit(rt, caller, size)


def _new_content(rt: Runtime, caller: Any, names: dict[str, str], size: int | None) -> int:
    return replace.admit(rt, caller, names["uuid"], size)


def _new_asset(rt: Runtime, caller: Any, names: dict[str, str], size: int | None) -> int:
    return asset_service.admit(rt, caller, names["uuid"], size)


ROUTES: tuple[Route, ...] = (
    Route("discovery.get", discovery.show),
    Route("openapi.get", discovery.openapi),
    Route("files.upload", files.upload, upload=_new_file),
    Route("files.import", imports.create),
    Route("files.list", files.list_files),
    Route("files.get", files.show),
    Route("files.delete", files.delete),
    Route("files.settings", settings.change),
    Route("files.download", files.content),
    Route("files.replace", holding.replace, upload=_new_content, owners_only=True),
    Route("files.restore", holding.restore),
    Route("files.claim", holding.claim),
    Route("files.qr", qr.show),
    Route("public.qr", qr.show_public, policy=PUBLIC_QR),
    Route("public.metadata", public.metadata),
    Route(
        "public.upload",
        public.upload,
        policy=ANONYMOUS_UPLOADS,
        upload=lambda rt, caller, names, size: anonymous.admit(rt, size),
    ),
    Route("assets.create", assets.create, upload=_new_asset),
    Route("variants.list", variants.list_variants),
    Route("variants.create", variants.create),
    Route("variants.update", variants.update),
    Route("variants.delete", variants.delete),
    Route("invites.list", invites.list_invites),
    Route("invites.create", invites.create),
    Route("readership.marks", feedback.page_marks),
    Route("readership.annotations", feedback.annotations),
    Route("readership.feedback", feedback.told),
    Route("readership.report", readership.report),
    Route("readership.pages", readership.pages),
    Route("readership.sessions", readership.sessions),
    Route("readership.session", readership.session),
    Route("webhooks.create", webhooks.create),
    Route("webhooks.list", webhooks.list_webhooks),
    Route("webhooks.delete", webhooks.delete),
    Route("webhooks.test", webhooks.test, policy=WEBHOOK_TEST),
    Route("webhooks.enable", webhooks.enable),
    Route("webhooks.deliveries", deliveries.list_deliveries),
    Route("webhooks.redeliver", deliveries.redeliver),
    Route("session.webhooks.create", webhooks.create),
    Route("session.webhooks.list", webhooks.list_webhooks),
    Route("session.webhooks.delete", webhooks.delete),
    Route("session.webhooks.test", webhooks.test, policy=SESSION_WEBHOOK_TEST),
    Route("session.files.upload", files.upload, upload=_new_file),
    Route("session.files.replace", holding.replace, upload=_new_content),
    Route("session.assets.create", assets.create, upload=_new_asset),
    Route("design.import", design_tool.publish),
    Route("design.status", design_tool.status),
    Route("account.get", account.show),
    Route("events.list", events.list_events),
    Route("gate.list", events.list_gate_responses),
    Route("activity.list", activity.list_activity),
)
