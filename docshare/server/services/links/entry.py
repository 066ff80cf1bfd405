"""Letting readers in: what a link still asks of whoever stands before it, and what is written down when they pass.

A reader who passed is a row in ``viewers``, known by a token in their browser, with a row in ``grants`` for each kind
of thing they gave. Both are written with the record of what they said and the unit of the view limit, in one
transaction, so nobody is let in for nothing or charged for a closed door.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from docshare.contract.limits import HOUR
from docshare.contract.problems import Problem
from docshare.contract.wire import drop_none
from docshare.server.rules import burning as burning_rules
from docshare.server.rules import gates, lifecycle
from docshare.server.rules.gates import GATE, PASSWORD, VIEW, GateRequest, HeldGrant, LinkRequirements
from docshare.server.runtime import Runtime
from docshare.server.services.events import activity
from docshare.server.services.files import burn
from docshare.server.services.links import guessing, links
from docshare.server.services.links.links import Link
from docshare.server.services.operations.secrets import instance_secret
from docshare.server.services.readership import viewers
from docshare.server.services.readership.viewers import ViewerRow

TICKET_LIFETIME_MS = HOUR
FROZEN = "frozen"

_SECRET = "entry-ticket-2"  # noqa: S105 - a name
_NONCE_CHARS = 20
_TICKET = re.compile(f"([0-9]{{1,15}})-[0-9A-Za-z]{{{_NONCE_CHARS}}}")
_BROWSER_CHARS = 40
_BROWSER_SECRET = re.compile(f"[0-9A-Za-z]{{{_BROWSER_CHARS}}}")
_HASH = "SELECT password_hash FROM files WHERE id = ?"
# In one row, so that it can be remembered: every page image of a reader who passed asks for it.
_GRANTS = "SELECT json_group_array(json_array(kind, content_version, seal, granted_at)) FROM grants WHERE viewer_id = ?"
_GRANT = "REPLACE INTO grants (viewer_id, kind, content_version, seal, granted_at) VALUES (?, ?, ?, ?, ?)"
# A file without an owner has nobody to tell, as everywhere in the feed.
_APPEND_TO_FEED = (
    "INSERT INTO gate_rows (owner_id, file_id, hidden, read_at, fields) "
    "SELECT owner_id, id, trashed_at IS NOT NULL, ?, ? FROM files WHERE id = ? AND owner_id IS NOT NULL"
)


@dataclass(frozen=True)
class EntrySubmission:
    """What somebody gives to be let in: ``password``; ``values`` of the form by key; ``ticket`` of the page they filled
    in, so that sending it twice counts once; ``browser`` the secret that this page gave to its browser, empty where it
    kept none. ``address`` is where from, used and not kept."""

    password: str
    values: Mapping[str, str]
    ticket: str
    address: str
    browser: str = ""


@dataclass(frozen=True)
class EntryState:
    """``asked``: what a link asks of anybody, with its ``seals``; ``owed``: the kinds one reader still owes;
    ``password_hash`` of the password, if one is asked for."""

    asked: LinkRequirements
    seals: Mapping[str, str]
    owed: frozenset[str]
    password_hash: str | None = None


_OPEN_TO_ALL = EntryState(LinkRequirements(), {}, frozenset())


def prepare(rt: Runtime) -> None:
    """Make what letting in needs, so that showing the first gate stores nothing."""
    instance_secret(rt, _SECRET)


def find_requirements(link: Link) -> LinkRequirements:
    """What ``link`` asks of anybody but its owner. Of a burned one, a unit that was taken before."""
    file = link.file
    counted = file.view_limit is not None or file.burned_at is not None
    if not file.protected and not counted and file.settings == "{}":
        return _OPEN_TO_ALL.asked
    settings = json.loads(file.settings)
    invited = link.invite is not None
    return gates.find_requirements(protected=bool(file.protected), counted=counted, settings=settings, invited=invited)


def is_name_hidden(link: Link) -> bool:
    """Whether strangers are not told the name of the document behind ``link``."""
    return gates.is_name_hidden(protected=bool(link.file.protected), settings=json.loads(link.file.settings))


def check_entry(
    rt: Runtime, link: Link, held: Callable[[Link], str | None], *, opening: bool = False, owner: bool = False
) -> EntryState:
    """What ``link`` asks of the reader whose browser holds the token ``held(link)``, and what of it they still owe.

    Parameters: ``opening`` whether they open the page, or an open page loads something; ``owner`` whether the link is
    their own. Raises ``gone`` (its ``extra`` has ``reason`` and ``ended``, ms) for a link that has ended; of a burned
    one, who took a unit keeps reading until the sweep. Raises ``forbidden`` (``reason`` ``frozen``) for one that is
    frozen, unless to its owner.
    """
    if link.file.frozen_at is not None and not owner:
        raise link_frozen()
    if link.state != lifecycle.LIVE:
        _require_not_ended(rt, link)
    what = find_requirements(link)
    if not what.kinds:
        return _OPEN_TO_ALL  # most links, and every page image asks: no reader is looked up
    found = _compute_state(rt, link, what, viewers.find(rt, link, held(link)), opening=opening)
    if found.owed and link.file.burned_at is not None:
        raise _link_ended(link)
    return found


def link_frozen() -> Problem:
    """The refusal of a link that the operator has frozen: nobody but its owner gets any of the document."""
    hint = "If you need the document, ask the person who sent you the link."
    return Problem("forbidden", "This link is on hold while it is being reviewed.", hint=hint, extra={"reason": FROZEN})


def issue_ticket(rt: Runtime) -> str:
    """A fresh word for one gate page."""
    return f"{rt.clock()}-{rt.token(_NONCE_CHARS)}"


def browser_secret(rt: Runtime, held: str | None) -> str:
    """Return the secret that binds the tickets of gate pages to one browser: the one it ``held``, or a new one."""
    return held if held and _BROWSER_SECRET.fullmatch(held) else rt.token(_BROWSER_CHARS)


def admit_viewer(rt: Runtime, name: str, link: Link, token: str | None, offer: EntrySubmission) -> str | None:
    """Let a reader open ``link``, which they came to by ``name``, for what they offer.

    Returns the token to hand to their browser, None if it holds one. Raises ``forbidden``, ``unprocessable`` and
    ``rate_limited`` (in ``extra`` either ``at``: the password is meant, or ``errors`` by key of the form), ``conflict``
    when the link asks for something else meanwhile, ``gone`` and ``not_found``; on any of them nothing is written.
    """
    promised = _derive_token(rt, link, offer)
    handed = None if viewers.find(rt, link, token) else promised
    token = handed or token
    judged = check_entry(rt, link, lambda _: token, opening=True)
    values = _validate_submission(rt, link, judged, offer)
    with rt.db.write():
        fresh = links.resolve(rt, name)
        if fresh is None:
            raise Problem("not_found", "There is no such link.")
        # Asked again: the same page may have been sent twice, and one that others burned meanwhile is over.
        now = check_entry(rt, fresh, lambda _: token, opening=True)
        if (now.seals, fresh.file.content_version) != (judged.seals, link.file.content_version):
            raise Problem("conflict", "What this link asks for has just been changed. Try again.")
        if now.owed:
            reader = viewers.find_or_create(rt, fresh, token, given=promised)
            handed = reader.token or handed
            _grant_entry(rt, fresh, reader.viewer, now, values)
    return handed


def _require_not_ended(rt: Runtime, link: Link) -> None:
    """Raise ``gone`` where nobody reads any more: expired, or burned and due for the sweep."""
    now, burned_at = rt.clock(), link.file.burned_at
    over = burned_at is not None and burned_at <= burning_rules.latest_due_burn(now)
    if over or lifecycle.is_expired(link.file.delete_at, now):
        raise _link_ended(link)


def _link_ended(link: Link) -> Problem:
    burned_at = link.file.burned_at
    reason, ended = (lifecycle.EXPIRED, link.file.delete_at) if burned_at is None else (lifecycle.BURNED, burned_at)
    return Problem("gone", "This link is no longer available.", extra={"reason": reason, "ended": ended})


def _compute_state(
    rt: Runtime, link: Link, what: LinkRequirements, viewer: ViewerRow | None, *, opening: bool
) -> EntryState:
    file = link.file
    stored = rt.db.recall(_HASH, (file.id,)) if PASSWORD in what.kinds else None
    password_hash = stored[0] if stored else None
    seals = gates.compute_seals(what, link.short_id, password_hash)
    moment = GateRequest(rt.clock(), opening, file.burned_at)
    owed = gates.find_missing_grants(seals, _load_grants(rt, viewer), file.content_version, moment)
    return EntryState(what, seals, owed, password_hash)


def _load_grants(rt: Runtime, viewer: ViewerRow | None) -> list[HeldGrant]:
    found = rt.db.recall(_GRANTS, (viewer.id,)) if viewer else None
    return [HeldGrant(*row) for row in json.loads(found[0])] if found else []


def _validate_submission(rt: Runtime, link: Link, judged: EntryState, offer: EntrySubmission) -> dict[str, str]:
    """The values of the form, if it is owed, once everything owed is right."""
    if PASSWORD in judged.owed:
        if not offer.password:
            raise Problem("unprocessable", "This is needed.", extra={"at": PASSWORD})
        guessing.require_password(rt, link.file.id, judged.password_hash or "", offer.password, offer.address)
    return gates.validate_form(judged.asked, offer.values) if GATE in judged.owed else {}


def _grant_entry(rt: Runtime, link: Link, viewer: ViewerRow, now: EntryState, values: Mapping[str, str]) -> None:
    """Write down, in the caller's transaction, that ``viewer`` gave what they owed. Raises ``gone``."""
    at = rt.clock()
    if VIEW in now.owed and not burn.consume_view(rt, link.file.id):
        raise _link_ended(link)
    for kind in now.owed:
        rt.db.execute(_GRANT, (viewer.id, kind, link.file.content_version, now.seals[kind], at))
    if GATE in now.owed:
        _record_gate_response(rt, link, viewer, now.asked, values, at)


def _record_gate_response(
    rt: Runtime, link: Link, viewer: ViewerRow, what: LinkRequirements, values: Mapping[str, str], at: int
) -> None:
    """The gate stream has custom forms only."""
    _, email = gates.find_email(what, values)
    rt.db.execute("UPDATE viewers SET email = ? WHERE id = ?", (email, viewer.id))
    said = dict(values) if what.custom else None
    if said is not None:
        rt.db.execute(_APPEND_TO_FEED, (at, json.dumps(said, separators=(",", ":")), link.file.id))
    extras = drop_none({"source": "form" if what.custom else "email", "email": email, "fields": said})
    activity.record(rt, link.file.id, "gate.completed", extras, at=at, variant_id=link.variant and link.variant.id)


def _derive_token(rt: Runtime, link: Link, offer: EntrySubmission) -> str:
    """Return the token that the sender of ``offer`` gets: the same for a page sent twice by one browser, so that an
    impatient second click does not take a second unit.

    The token lets its holder in, so a ticket alone must not lead to it: pages are saved, forwarded and photographed.
    A malformed or old ticket, and one without the secret of its browser, gives a new token that nothing was given for.
    """
    found = _TICKET.fullmatch(offer.ticket)
    fresh = found is not None and 0 <= rt.clock() - int(found[1]) < TICKET_LIFETIME_MS
    if not fresh or _BROWSER_SECRET.fullmatch(offer.browser) is None:
        return rt.secret(hashlib.sha256().digest_size).hex()
    said = f"{link.short_id} {offer.browser} {offer.ticket}"
    return hmac.digest(instance_secret(rt, _SECRET), said.encode(), hashlib.sha256).hex()
