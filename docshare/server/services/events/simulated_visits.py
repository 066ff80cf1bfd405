"""Simulate the visit of a reader: open a link, and report reading as the share page does."""

import json
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from docshare.contract.problems import Problem
from docshare.server.rules import simulated_reading
from docshare.server.rules.gates import GATE, PASSWORD
from docshare.server.runtime import Runtime
from docshare.server.services.files import page_range
from docshare.server.services.links import entry
from docshare.server.services.links.entry import EntrySubmission
from docshare.server.services.links.links import Link
from docshare.server.services.readership import viewing
from docshare.server.services.readership.viewing import BeaconSender, PageFacts

VISITOR_ADDRESS = "127.0.0.1"
_USER_AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"


def require_open(rt: Runtime, link: Link, *, consent: bool) -> None:
    """Raise a Problem unless a simulated visitor can open ``link``.

    ``gone`` for a dead link, ``conflict`` for a link with a password or a form, and for one with a view limit unless
    there is ``consent`` to use up a view.
    """
    owed = entry.check_entry(rt, link, no_viewer_token, opening=True).missing
    if owed & {PASSWORD, GATE}:
        what = "a password" if PASSWORD in owed else "a form"
        names = "password gateFields requireEmail" if GATE in owed else "password"
        hint = f"Clear it: docshare settings clear {link.file.short_id} {names}"
        if PASSWORD not in owed:
            hint = f"Fill it in if the event allows that: --set email=ann@example.com. {hint}"
        raise Problem("conflict", f"The link requires {what} of its readers.", hint=hint)
    if owed and not consent:
        raise consent_required()


def admit_reader(rt: Runtime, link: Link, values: Mapping[str, str] = MappingProxyType({})) -> str | None:
    """Return the viewer token of a reader who may open ``link``; None if the link has no conditions.

    Uses up a view if the link has a view limit. ``values``: the answers to its form by key.
    """
    if not entry.check_entry(rt, link, no_viewer_token, opening=True).missing:
        return None
    return entry.admit_viewer(
        rt, link.public_id, link, None, EntrySubmission("", values, entry.issue_ticket(rt), VISITOR_ADDRESS)
    )


def consent_required() -> Problem:
    """Return the problem that rejects using a limited resource without consent."""
    hint = "Add --yes to confirm."
    return Problem("conflict", "The link has a view limit, and this uses up one of its views.", hint=hint)


def no_viewer_token(_: Link) -> None:
    """Return the viewer token of a new browser, which has none."""
    return


def simulate_reading(rt: Runtime, link: Link, token: str | None, began: int, pages: int, time_ms: int) -> None:
    """Report the reading of somebody who reads ``pages`` pages in ``time_ms`` and leaves.

    The beacons are recorded at the times at which the script of the page would have sent them, after the page was
    opened at ``began`` (ms). ``token``: the viewer token, as returned by ``admit_reader``.
    """
    source = "Direct link" if link.variant is None else "Variant"
    mode = link.settings["viewerMode"]
    sender = BeaconSender(
        _USER_AGENT, VISITOR_ADDRESS, None, None, is_prefetch=False, find_viewer_token=lambda _: token
    )
    facts = PageFacts(source, mode, None, is_prefetched=False)
    page = viewing.sign_page_token(runtime_at(rt, began), link, page_range.reader_window(link), facts)
    for report in simulated_reading.plan_beacons(pages, time_ms):
        body = json.dumps({"token": page, **report.body}).encode()
        viewing.record_beacon(runtime_at(rt, began + report.after_ms), link.public_id, body, sender)


def runtime_at(rt: Runtime, moment: int) -> Runtime:
    """Return ``rt`` with its clock set to ``moment`` (ms), for events in the past."""
    return replace(rt, clock=lambda: moment)
