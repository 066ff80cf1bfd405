"""The table of routes under /api that stand: which view answers which operation of the contract."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from flask import Response

from docshare.contract.limits import PUBLIC_QR, REQUESTS, RatePolicy
from docshare.contract.scopes import OPERATIONS
from docshare.server.api import account, discovery, events, files, qr
from docshare.server.api.auth import Entrance
from docshare.server.runtime import Runtime
from docshare.server.services import intake
from docshare.server.services.callers import Caller

UploadJudge = Callable[[Runtime, Caller, dict[str, str], int | None], int]
"""``(rt, caller, names in the path, least size of the file in bytes or None) -> largest file that may follow``."""


@dataclass(frozen=True)
class Route:
    """``operation`` names a row of ``scopes.OPERATIONS``; ``view`` takes the caller, unless the route is public, and
    then the names in the path in their order; ``policy`` limits a public route; ``upload`` judges an upload before its
    body, None where only small bodies are taken."""

    operation: str
    view: Callable[..., Response]
    policy: RatePolicy = REQUESTS
    upload: UploadJudge | None = None

    @property
    def method(self) -> str:
        """The HTTP method; GET answers HEAD too."""
        return OPERATIONS[self.operation].method

    @cached_property
    def entrance(self) -> Entrance:
        """What the route asks for."""
        row = OPERATIONS[self.operation]
        return Entrance(public=not row.lanes, scope=row.scope, policy=self.policy)

    @cached_property
    def rule(self) -> str:
        """The path as Flask writes it."""
        return re.sub(r"{(\w+)}", r"<\1>", OPERATIONS[self.operation].path)


ROUTES: tuple[Route, ...] = (
    Route("discovery.get", discovery.show),
    Route("openapi.get", discovery.openapi),
    Route("files.upload", files.upload, upload=lambda rt, caller, names, size: intake.admit(rt, caller, size)),
    Route("files.list", files.list_files),
    Route("files.get", files.show),
    Route("files.delete", files.delete),
    Route("files.download", files.content),
    Route("files.qr", qr.show),
    Route("public.qr", qr.show_public, policy=PUBLIC_QR),
    Route("account.get", account.show),
    Route("events.list", events.list_events),
    Route("gate.list", events.list_gate_responses),
)
