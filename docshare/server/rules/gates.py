"""The conditions that a reader must meet before a share link opens, and those not yet met. Pure.

There are three conditions: the ``password``; the ``gate``, which is an email address or the owner's form; and a
``view``, one unit of the view limit. A reader who has met one holds a *grant* for it. A grant is valid for one link
and one content version, and until the condition changes: its *seal* is a hash of the stored password or form, so a
new password, even the same one, invalidates all older grants.

A view is consumed by opening the page. Opening it again within half an hour consumes no second one, and a page that
stays open keeps loading for half a day. When the last view burns the file, readers with access keep it until the
bytes are deleted.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from docshare.contract import fields
from docshare.contract.limits import GATE_VALUE_CHARS, HOUR, MINUTE
from docshare.contract.problems import Problem

PASSWORD, GATE, VIEW = "password", "gate", "view"

REOPEN_WINDOW_MS = 30 * MINUTE  # time within which opening the page again consumes no second view
OPEN_PAGE_MS = 12 * HOUR  # time for which a page that stays open can load


class FormField(NamedTuple):
    """One field of a form; ``type`` is ``text``, ``email``, ``phone`` or ``company``."""

    key: str
    label: str
    type: str
    required: bool


_EMAIL_PROMPT = (FormField("email", "Email address", "email", True),)


@dataclass(frozen=True)
class LinkRequirements:
    """The conditions of a link.

    ``kinds`` of ``PASSWORD``, ``GATE`` and ``VIEW``; ``form`` the fields of the gate; ``has_custom_form``: the owner
    defined the form, it is not the plain email prompt; ``domains`` allowed for the address, none for any.
    """

    kinds: frozenset[str] = frozenset()
    form: tuple[FormField, ...] = ()
    has_custom_form: bool = False
    domains: tuple[str, ...] = ()


@dataclass(frozen=True)
class HeldGrant:
    """Access granted to a reader: ``seal`` of the conditions at that time; ``granted_at`` in milliseconds."""

    kind: str
    content_version: int
    seal: str
    granted_at: int


@dataclass(frozen=True)
class GateRequest:
    """The time and kind of a request: opening the page, or loading a resource of an open page. ``burned_at``: when
    the last view was consumed, None while the link lives. Times in milliseconds."""

    now: int
    is_page_load: bool
    burned_at: int | None = None


def find_requirements(
    *, protected: bool, counted: bool, settings: Mapping[str, Any], invited: bool
) -> LinkRequirements:
    """Return the conditions of a link.

    Parameters: ``protected`` whether a password is set; ``counted`` whether opening consumes a view of a view limit;
    ``settings`` in effect, by wire name; ``invited`` whether it is an invitee's own link. The plan does not matter:
    conditions of a published link still apply after a downgrade.
    """
    own = tuple(
        FormField(row["key"], row["label"], row["type"], row["required"]) for row in settings.get("gateFields") or ()
    )
    # The owner entered the invitee's address, so invitees need not enter it and no domain is required.
    prompted = bool(settings.get("requireEmail")) and not invited
    form = own or (_EMAIL_PROMPT if prompted else ())
    required = {PASSWORD: protected, GATE: bool(form), VIEW: counted}
    domains = () if invited or not form else tuple(settings.get("gateDomains") or ())
    return LinkRequirements(
        frozenset(kind for kind, is_required in required.items() if is_required), form, bool(own), domains
    )


def is_name_hidden(*, protected: bool, settings: Mapping[str, Any]) -> bool:
    """Return whether the name of the document is hidden from readers who have not met the conditions. A view limit
    alone does not hide it."""
    return protected or asks_who_reads(settings)


def asks_who_reads(settings: Mapping[str, Any]) -> bool:
    """Return whether readers must say who they are, by an address or the form of the owner."""
    return bool(settings.get("requireEmail")) or bool(settings.get("gateFields"))


def is_choice_offered(settings: Mapping[str, Any]) -> bool:
    """Return whether readers of a link with the ``settings`` in effect may choose not to be measured.

    Unless the owner set it, they may where nothing asks who they are.
    """
    chosen = settings.get("readerChoice")
    return not asks_who_reads(settings) if chosen is None else bool(chosen)


def compute_seals(what: LinkRequirements, short_id: str, password_hash: str | None) -> dict[str, str]:
    """Return the seal of each current condition of the link with the short id ``short_id``."""
    conditions: dict[str, Any] = {PASSWORD: password_hash, GATE: [what.form, what.domains], VIEW: None}
    return {kind: _compute_seal(kind, short_id, conditions[kind]) for kind in what.kinds}


def _compute_seal(kind: str, short_id: str, condition: object) -> str:
    return hashlib.sha256(json.dumps([kind, short_id, condition]).encode()).hexdigest()


def find_missing_grants(
    wanted: Mapping[str, str], grants: Iterable[HeldGrant], content_version: int, moment: GateRequest
) -> frozenset[str]:
    """Return the conditions that a reader who holds ``grants`` has not met, on a link with the seals ``wanted``."""
    paid = {
        grant.kind
        for grant in grants
        if wanted.get(grant.kind) == grant.seal
        and grant.content_version == content_version
        and (grant.kind != VIEW or _is_view_grant_valid(grant, moment))
    }
    return frozenset(wanted.keys() - paid)


def _is_view_grant_valid(view: HeldGrant, moment: GateRequest) -> bool:
    if not moment.is_page_load:
        return moment.now - view.granted_at < OPEN_PAGE_MS
    since = moment.now if moment.burned_at is None else moment.burned_at
    return since - view.granted_at < REOPEN_WINDOW_MS


def validate_form(what: LinkRequirements, sent: Mapping[str, str]) -> dict[str, str]:
    """Return the values of the form by key, trimmed, without empty ones.

    Raises ``unprocessable`` and, for an address at another domain, ``forbidden``; ``errors`` of its ``extra``
    contains one message for each invalid field, by key.
    """
    values = {field.key: sent.get(field.key, "").strip() for field in what.form}
    errors = {field.key: error for field in what.form if (error := _validate_field(field, values[field.key]))}
    if errors:
        raise Problem("unprocessable", "The form is incomplete or invalid.", extra={"errors": errors})
    key, address = find_email(what, values)
    if what.domains and not _is_at_domain(address, what.domains):
        message = "Email addresses at this domain cannot open this document. Use the one that received the link."
        raise Problem(
            "forbidden", "The email address does not belong to an allowed domain.", extra={"errors": {key: message}}
        )
    return {key: value for key, value in values.items() if value}


def find_email(what: LinkRequirements, values: Mapping[str, str]) -> tuple[str, str]:
    """Return key and value of the form's only email address, whatever its key is."""
    key = next(field.key for field in what.form if field.type == "email")
    return key, values[key]


def _validate_field(field: FormField, value: str) -> str | None:
    if not value:
        return "This field is required." if field.required else None
    if len(value) > GATE_VALUE_CHARS:
        return f"This is longer than {GATE_VALUE_CHARS} characters."
    parse = fields.parse_email if field.type == "email" else fields.text_parser(1, GATE_VALUE_CHARS)
    try:
        parse(field.key, value)
    except Problem:
        wanted = "an email address such as ada@example.com" if field.type == "email" else "one line of plain text"
        return f"This must be {wanted}."
    return None


def _is_at_domain(address: str, domains: tuple[str, ...]) -> bool:
    """Return whether the domain of ``address`` is one of ``domains`` (lower-case ASCII); subdomains do not match."""
    domain = address.rpartition("@")[2].lower()
    try:
        encoded = domain.encode("idna").decode()
        # The codec maps some letters to others (ß to ss), which can result in the domain of another owner.
        same = domain in (encoded, encoded.encode().decode("idna"))
    except UnicodeError:
        return False
    return same and encoded in domains
