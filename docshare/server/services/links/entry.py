"""Admit readers: find the requirements that a reader of a link has not met, and store what they submit.

A reader who was admitted is a row in ``viewers``, recognized by a token in their browser, with a row in ``grants`` for
each requirement that they met. One transaction writes both, with the gate response and the unit of the view limit, so
that nobody is admitted without a unit or charged without being admitted.
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
from docshare.server.store.tables import feed
from docshare.server.store.tables import files as file_rows
from docshare.server.store.tables import readers as reader_rows

TICKET_LIFETIME_MS = HOUR
FROZEN = "frozen"

_SECRET = "entry-ticket-2"  # noqa: S105 - a name
_NONCE_CHARS = 20
_TICKET = re.compile(f"([0-9]{{1,15}})-[0-9A-Za-z]{{{_NONCE_CHARS}}}")
_BROWSER_CHARS = 40
_BROWSER_SECRET = re.compile(f"[0-9A-Za-z]{{{_BROWSER_CHARS}}}")


@dataclass(frozen=True)
class EntrySubmission:
    """A submitted gate page: ``password``; ``values`` of the form by key; ``ticket`` of the page, so that a page sent
    twice counts once; ``browser`` the secret that the page gave to its browser, empty where the browser did not keep
    it; ``address`` of the network, which is not stored."""

    password: str
    values: Mapping[str, str]
    ticket: str
    address: str
    browser: str = ""


@dataclass(frozen=True)
class EntryState:
    """``requirements``: what a link requires of any reader, with its ``seals``; ``missing``: the kinds that one
    reader has not met yet; ``password_hash`` of the password, if the link requires one."""

    requirements: LinkRequirements
    seals: Mapping[str, str]
    missing: frozenset[str]
    password_hash: str | None = None


_OPEN_TO_ALL = EntryState(LinkRequirements(), {}, frozenset())


def prepare(rt: Runtime) -> None:
    """Create the secret of the tickets, so that showing the first gate stores nothing."""
    instance_secret(rt, _SECRET)


def find_requirements(link: Link) -> LinkRequirements:
    """Return what ``link`` requires of any reader but its owner: of a burned one, a unit that they used before."""
    file = link.file
    counted = file.view_limit is not None or file.burned_at is not None
    if not file.protected and not counted and file.settings == "{}":
        return _OPEN_TO_ALL.requirements
    invited = link.invite is not None
    return gates.find_requirements(
        protected=bool(file.protected), counted=counted, settings=link.settings, invited=invited
    )


def is_name_hidden(link: Link) -> bool:
    """Return whether the name of the document behind ``link`` is hidden from strangers."""
    return gates.is_name_hidden(protected=bool(link.file.protected), settings=link.settings)


def check_entry(
    rt: Runtime, link: Link, held: Callable[[Link], str | None], *, opening: bool = False, owner: bool = False
) -> EntryState:
    """Return what ``link`` requires of the reader whose browser holds the token ``held(link)``, and what is missing.

    Parameters: ``opening`` True when the reader opens the page, False when an open page loads a part; ``owner`` whether
    the reader owns the link. Raises ``gone`` (its ``extra`` has ``reason`` and ``ended``, ms) for a link that is
    expired or burned; a reader who used a unit of a burned link keeps reading until the sweep. Raises ``forbidden``
    (``reason`` ``frozen``) for a frozen link, unless to its owner.
    """
    if link.file.frozen_at is not None and not owner:
        raise link_frozen()
    now = rt.clock()
    if link.state != lifecycle.LIVE:
        _require_not_ended(link, now)
    requirements = find_requirements(link)
    if not requirements.kinds:
        return _OPEN_TO_ALL  # the usual case, and checked for every page image: skip the lookup of the reader
    moment = GateRequest(now, opening, link.file.burned_at)
    found = _compute_state(rt, link, requirements, viewers.find(rt, link, held(link)), moment)
    if found.missing and link.file.burned_at is not None:
        raise _link_ended(link)
    return found


def link_frozen() -> Problem:
    """Return the problem for a link that the operator has frozen: only its owner can read the document."""
    hint = "If you need the document, ask the person who sent you the link."
    return Problem(
        "forbidden", "This link is on hold while the operator reviews it.", hint=hint, extra={"reason": FROZEN}
    )


def issue_ticket(rt: Runtime) -> str:
    """Return a new ticket for one gate page."""
    return f"{rt.clock()}-{rt.random_token(_NONCE_CHARS)}"


def browser_secret(rt: Runtime, held: str | None) -> str:
    """Return the secret that binds the tickets of gate pages to one browser: the one it ``held``, or a new one."""
    return held if held and _BROWSER_SECRET.fullmatch(held) else rt.random_token(_BROWSER_CHARS)


def admit_viewer(rt: Runtime, name: str, link: Link, token: str | None, submission: EntrySubmission) -> str | None:
    """Admit a reader to ``link``, which they opened by ``name``, for what they submitted.

    Returns the token to set in their browser, None if it holds one. Raises ``forbidden``, ``unprocessable`` and
    ``rate_limited`` (``extra`` has ``at`` for the password, or ``errors`` by key of the form), ``conflict`` when the
    requirements of the link changed meanwhile, ``gone`` and ``not_found``; nothing is written then.
    """
    derived = _derive_token(rt, link, submission)
    new_token = None if viewers.find(rt, link, token) else derived
    token = new_token or token
    checked = check_entry(rt, link, lambda _: token, opening=True)
    values = _validate_submission(rt, link, checked, submission)
    with rt.db.write(link.file.owner_id):
        fresh = links.resolve(rt, name)
        if fresh is None:
            raise Problem("not_found", "There is no such link.")
        # Checked again: the same page may have been sent twice, and other readers may have burned the link.
        current = check_entry(rt, fresh, lambda _: token, opening=True)
        if (current.seals, fresh.file.content_version) != (checked.seals, link.file.content_version):
            raise Problem("conflict", "The requirements of this link have just changed. Try again.")
        if current.missing:
            reader = viewers.find_or_create(rt, fresh, token, given=derived)
            new_token = reader.token or new_token
            _grant_entry(rt, fresh, reader.viewer, current, values)
    return new_token


def _require_not_ended(link: Link, now: int) -> None:
    """Raise ``gone`` for a link that nobody can read any more: expired, or burned and due for the sweep."""
    burned_at = link.file.burned_at
    is_due = burned_at is not None and burned_at <= burning_rules.latest_due_burn(now)
    if is_due or lifecycle.is_expired(link.file.delete_at, now):
        raise _link_ended(link)


def _link_ended(link: Link) -> Problem:
    burned_at = link.file.burned_at
    reason, ended = (lifecycle.EXPIRED, link.file.delete_at) if burned_at is None else (lifecycle.BURNED, burned_at)
    return Problem("gone", "This link is no longer available.", extra={"reason": reason, "ended": ended})


def _compute_state(
    rt: Runtime, link: Link, requirements: LinkRequirements, viewer: ViewerRow | None, moment: GateRequest
) -> EntryState:
    file = link.file
    password_hash = file_rows.recall_password_hash(rt.db, file.id) if PASSWORD in requirements.kinds else None
    seals = gates.compute_seals(requirements, link.short_id, password_hash)
    owed = gates.find_missing_grants(seals, _load_grants(rt, viewer), file.content_version, moment)
    return EntryState(requirements, seals, owed, password_hash)


def _load_grants(rt: Runtime, viewer: ViewerRow | None) -> list[HeldGrant]:
    return [HeldGrant(*row) for row in reader_rows.recall_grants(rt.db, viewer.id)] if viewer else []


def _validate_submission(rt: Runtime, link: Link, checked: EntryState, submission: EntrySubmission) -> dict[str, str]:
    """Return the values of the form, empty if none is missing. Raises Problem unless all missing values are valid."""
    if PASSWORD in checked.missing:
        if not submission.password:
            raise Problem("unprocessable", "This field is required.", extra={"at": PASSWORD})
        stored = checked.password_hash or ""
        guessing.require_password(rt, link.file.id, stored, submission.password, submission.address)
    return gates.validate_form(checked.requirements, submission.values) if GATE in checked.missing else {}


def _grant_entry(rt: Runtime, link: Link, viewer: ViewerRow, state: EntryState, values: Mapping[str, str]) -> None:
    """Store, in the caller's transaction, that ``viewer`` met the missing requirements. Raises ``gone``."""
    now = rt.clock()
    if VIEW in state.missing and not burn.consume_view(rt, link.file.id, link.file.owner_id):
        raise _link_ended(link)
    for kind in state.missing:
        reader_rows.replace_grant(rt.db, viewer.id, kind, link.file.content_version, state.seals[kind], now)
    if GATE in state.missing:
        _record_gate_response(rt, link, viewer, state.requirements, values, now)


def _record_gate_response(
    rt: Runtime, link: Link, viewer: ViewerRow, requirements: LinkRequirements, values: Mapping[str, str], now: int
) -> None:
    """Store the email and record the event; append custom forms, and only those, to the gate stream."""
    _, email = gates.find_email(requirements, values)
    reader_rows.set_viewer_email(rt.db, viewer.id, email)
    fields = dict(values) if requirements.has_custom_form else None
    if fields is not None:
        feed.append_gate_response(rt.db, link.file.id, json.dumps(fields, separators=(",", ":")), now)
    extras = drop_none(
        {"source": "form" if requirements.has_custom_form else "email", "email": email, "fields": fields}
    )
    activity.record(rt, link.file.id, "gate.completed", extras, at=now, variant_id=link.variant and link.variant.id)


def _derive_token(rt: Runtime, link: Link, submission: EntrySubmission) -> str:
    """Return the token for the sender of ``submission``: the same for a page sent twice by one browser, so that an
    impatient second click does not use a second unit.

    The token admits its holder, so the ticket alone must not be enough to derive it: pages are saved, forwarded and
    photographed. A malformed or old ticket, and one without the secret of its browser, gives a new token without
    grants.
    """
    found = _TICKET.fullmatch(submission.ticket)
    is_fresh = found is not None and 0 <= rt.clock() - int(found[1]) < TICKET_LIFETIME_MS
    if not is_fresh or _BROWSER_SECRET.fullmatch(submission.browser) is None:
        return rt.random_bytes(hashlib.sha256().digest_size).hex()
    message = f"{link.short_id} {submission.browser} {submission.ticket}"
    return hmac.digest(instance_secret(rt, _SECRET), message.encode(), hashlib.sha256).hex()
