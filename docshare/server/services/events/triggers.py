"""Trigger an event for developers of a receiver.

Nothing is made up: each kind goes the way of a real reader, through the services of the share page, so that feed,
readership, record and deliveries agree, and what the settings of the file do not allow does not happen here either.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from docshare.contract import triggers as contract
from docshare.contract.fields import is_uuid
from docshare.contract.problems import Problem
from docshare.contract.wire import format_instant
from docshare.server.runtime import Runtime
from docshare.server.services.events.simulated_events import TRIGGER_ACTIONS, TriggerContext
from docshare.server.services.files import files
from docshare.server.services.links import links
from docshare.server.services.links.links import Link
from docshare.server.store.tables import deliveries, events, sharing

_LABEL_PREFIX = "label:"


@dataclass(frozen=True)
class TriggerInput:
    """The event to trigger: ``kind``; ``file`` by UUID, short id or slug; ``variant`` through which link, by
    UUID, short id or ``label:TEXT``, empty for the file's own; ``values`` texts by key of its data; ``consent`` to what
    changes the file; ``rehearse``: only look whether it could happen."""

    kind: str
    file: str
    variant: str
    values: Mapping[str, str]
    has_consent: bool
    is_rehearsal: bool


def trigger_event(rt: Runtime, wish: TriggerInput) -> dict[str, Any]:
    """Let the event happen that ``wish`` asks for.

    Returns ``{id, event, timestamp, data, deliveries}`` as the activity feed has it, with the numbers of the deliveries
    that were queued for it; of a rehearsal ``{event, fileUuid, fileName, link, values}``. Raises Problem:
    ``bad_request`` (kind, key, value), ``not_found`` (file, variant, page), ``gone``, ``conflict`` for what the
    settings do not allow, whose hint names the setting, and ``plan_required``.
    """
    values = contract.parse_values(wish.kind, wish.values)
    act = TRIGGER_ACTIONS[wish.kind]
    link = _resolve_link(rt, wish)
    if link.variant is not None and not act.allows_variant:
        raise Problem("bad_request", f"{wish.kind} happens to a file, not through one of its links.", hint="")
    scene = TriggerContext(link, wish.has_consent, values)
    chosen = act.prepare(rt, scene)
    if wish.is_rehearsal:
        return _describe_rehearsal(rt, wish.kind, scene, chosen)
    if wish.kind in contract.DESTRUCTIVE and not wish.has_consent:
        raise Problem("conflict", f"This {contract.DESTRUCTIVE[wish.kind]}.", hint="Add --yes to confirm.")
    before = events.get_newest_ids(rt.db)
    act.cause(rt, scene, chosen)
    return _describe_event(rt, wish.kind, link, before)


def _resolve_link(rt: Runtime, wish: TriggerInput) -> Link:
    link = links.resolve(rt, wish.file)
    if link is None or link.invite is not None:
        raise files.admin_file_not_found(wish.file)
    if link.file.owner_id is None:
        detail = "This file does not belong to an account, so its events have no recipient."
        raise Problem("conflict", detail, hint="Claim it first.")
    through = _resolve_variant(rt, link, wish.variant) if wish.variant else link
    if through is None:
        raise Problem(
            "not_found", f"The file has no such variant: {wish.variant}.", hint="A revoked one has no readers."
        )
    return through


def _resolve_variant(rt: Runtime, link: Link, name: str) -> Link | None:
    by_label = name.startswith(_LABEL_PREFIX)
    key = name.removeprefix(_LABEL_PREFIX) if by_label else name.lower() if is_uuid(name) else name
    list_active = sharing.list_active_by_label if by_label else sharing.list_active_by_key
    found = list_active(rt.db, link.file.id, key)
    if len(found) > 1:
        raise Problem("bad_request", f"Several variants are called {key}.", hint="Name it by its UUID or short id.")
    return links.resolve(rt, found[0]) if found else None


def _describe_rehearsal(rt: Runtime, kind: str, scene: TriggerContext, chosen: Mapping[str, Any]) -> dict[str, Any]:
    link = scene.link
    return {
        "event": kind,
        "fileUuid": link.file.uuid,
        "fileName": link.file.original_name,
        "link": f"{rt.config.base_url}/{link.short_id}",
        "values": dict(chosen),
    }


def _describe_event(rt: Runtime, kind: str, link: Link, before: tuple[int, int]) -> dict[str, Any]:
    found = events.find_event(rt.db, before[0], link.file.id, kind)
    if found is None:
        raise Problem("conflict", "The event did not happen: the file was changed meanwhile.")
    ident, at, data = found
    told = {"event": kind, "timestamp": format_instant(at), "data": json.loads(data)}
    body = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    queued = deliveries.list_ids_of_event(rt.db, before[1], link.file.id, kind, body)
    return {"id": ident, **told, "deliveries": queued}
