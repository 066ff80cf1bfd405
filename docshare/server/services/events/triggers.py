"""Trigger events, so that developers can test their receiver.

Nothing is faked: each kind is caused by a simulated reader through the services of the share page. So the feed, the
readership report, the activity record and the deliveries agree, and settings that forbid an action forbid it here
too.
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
    """The event to trigger.

    ``file``: its UUID, short id or slug; ``variant``: its UUID, short id or ``label:TEXT``, empty for the file's own
    link; ``values``: texts for the data of the event, by key; ``has_consent``: the file may be changed;
    ``is_dry_run``: only check whether the event could be triggered.
    """

    kind: str
    file: str
    variant: str
    values: Mapping[str, str]
    has_consent: bool
    is_dry_run: bool


def trigger_event(rt: Runtime, event: TriggerInput) -> dict[str, Any]:
    """Trigger the requested event.

    Returns ``{id, event, timestamp, data, deliveries}`` as in the activity feed, with the ids of the queued
    deliveries; for a dry run ``{event, fileUuid, fileName, link, values}``. Raises Problem: ``bad_request`` (kind,
    key, value), ``not_found`` (file, variant, page), ``gone``, ``conflict`` if the settings do not allow it, with the
    setting in its hint, and ``plan_required``.
    """
    values = contract.parse_values(event.kind, event.values)
    act = TRIGGER_ACTIONS[event.kind]
    link = _resolve_link(rt, event)
    if link.variant is not None and not act.allows_variant:
        raise Problem("bad_request", f"{event.kind} is an event of the file, not of one of its links.", hint="")
    trigger = TriggerContext(link, event.has_consent, values)
    chosen = act.prepare(rt, trigger)
    if event.is_dry_run:
        return _describe_dry_run(rt, event.kind, trigger, chosen)
    if event.kind in contract.DESTRUCTIVE and not event.has_consent:
        raise Problem("conflict", f"This {contract.DESTRUCTIVE[event.kind]}.", hint="Add --yes to confirm.")
    before = events.get_newest_ids(rt.db)
    try:
        act.cause(rt, trigger, chosen)
    except FileNotFoundError:
        raise _changed_meanwhile() from None
    return _describe_event(rt, event.kind, link, before)


def _resolve_link(rt: Runtime, event: TriggerInput) -> Link:
    link = links.resolve(rt, event.file)
    if link is None or link.invite is not None:
        raise files.admin_file_not_found(event.file)
    if link.file.owner_id is None:
        detail = "This file does not belong to an account, so its events have no recipient."
        raise Problem("conflict", detail, hint="Claim it first.")
    through = _resolve_variant(rt, link, event.variant) if event.variant else link
    if through is None:
        raise Problem(
            "not_found",
            f"There is no variant '{event.variant}' of this file.",
            hint="A revoked variant has no readers.",
        )
    return through


def _resolve_variant(rt: Runtime, link: Link, name: str) -> Link | None:
    by_label = name.startswith(_LABEL_PREFIX)
    key = name.removeprefix(_LABEL_PREFIX) if by_label else name.lower() if is_uuid(name) else name
    list_active = sharing.list_active_by_label if by_label else sharing.list_active_by_key
    found = list_active(rt.db, link.file.id, key)
    if len(found) > 1:
        raise Problem("bad_request", f"Several variants have the label {key}.", hint="Use its UUID or short id.")
    return links.resolve(rt, found[0]) if found else None


def _describe_dry_run(rt: Runtime, kind: str, trigger: TriggerContext, chosen: Mapping[str, Any]) -> dict[str, Any]:
    link = trigger.link
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
        raise _changed_meanwhile()
    ident, at, data = found
    envelope = {"event": kind, "timestamp": format_instant(at), "data": json.loads(data)}
    body = json.dumps(envelope, ensure_ascii=False, separators=(",", ":"))
    queued = deliveries.list_ids_of_event(rt.db, before[1], link.file.id, kind, body)
    return {"id": ident, **envelope, "deliveries": queued}


def _changed_meanwhile() -> Problem:
    return Problem("conflict", "The event did not happen: the file was changed in the meantime.")
