"""Cause each kind of event that a developer can trigger: choose its values, and act as the reader who causes it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from docshare.contract.features import plan_problem, require_plan
from docshare.contract.limits import BURN_DELAY_MS
from docshare.contract.problems import Problem
from docshare.contract.proofing import MARKS
from docshare.contract.scopes import Lane, held_scopes
from docshare.contract.settings import SETTINGS
from docshare.contract.triggers import FORM_KEY
from docshare.contract.wire import drop_none
from docshare.server.received_file import ReceivedFile
from docshare.server.rules import gates, lifecycle, reading, simulated_reading
from docshare.server.rules.gates import GATE, PASSWORD, LinkRequirements
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller, make_account_caller
from docshare.server.services.events import simulated_visits as visits
from docshare.server.services.feedback import annotations, marks, notes, receipts
from docshare.server.services.files import burn, page_range, sealed_blobs
from docshare.server.services.files import replace as replacing
from docshare.server.services.links import downloads, entry, invites, links
from docshare.server.services.links.entry import EntrySubmission
from docshare.server.services.links.invites import InviteInput as Invitation
from docshare.server.services.links.links import Link, SharedInvite
from docshare.server.services.readership import readers, viewing
from docshare.server.services.readership.readers import ReaderContext
from docshare.server.store.tables import accounts, sharing

Values = dict[str, Any]

_DEFAULT_PAGES, _DEFAULT_PAGE_MS = 3, 20_000  # read by default
_INVITEE_READING_MS = 6_000  # reading time of an invitee
_BLOCK_BYTES = 1024 * 1024
_EXAMPLE_ANSWERS = {"email": "reader", "phone": "+44 20 7946 0000", "company": "Example Ltd", "text": "Example"}
_READER_NAME = "Example Reader"
_DOMAIN = "example.com"
_RECT = {"x": 0.1, "y": 0.1, "width": 0.3, "height": 0.1}


@dataclass(frozen=True)
class TriggerContext:
    """Where and how to trigger an event: the ``link``, the consent to use up limited resources, and the given
    ``values``."""

    link: Link
    has_consent: bool
    values: Mapping[str, Any]


@dataclass(frozen=True)
class TriggerAction:
    """How to trigger one kind of event.

    ``prepare``: return the values of the event as far as they can be chosen, or raise the Problem that prevents it,
    without changing anything; ``cause``: cause the event with these values; ``allows_variant``: whether it can be
    caused through a variant.
    """

    prepare: Callable[[Runtime, TriggerContext], Values]
    cause: Callable[[Runtime, TriggerContext, Values], None]
    allows_variant: bool = True


def _require_settings(rt: Runtime, link: Link, *names: str) -> None:
    """Raise ``plan_required`` or ``conflict`` unless all settings ``names`` are switched on."""
    needed = max(SETTINGS[name].plan for name in names)
    if links.owner_plan(rt, link) < needed:
        raise plan_problem(needed, f"The setting {names[0]}")
    off = [f"{name}=true" for name in names if not link.settings[name]]
    if off:
        hint = f"Switch it on: docshare settings set {link.file.short_id} {' '.join(off)}"
        raise Problem("conflict", "The settings of the file do not allow this.", hint=hint)


# --- reading ---------------------------------------------------------------------------------------------------------


def _fill_in_form(rt: Runtime, trigger: TriggerContext) -> dict[str, str]:
    """Return the answers to the gate form; empty if none were given, in which case the link must not have a form."""
    if trigger.values.keys() & {"email", FORM_KEY}:
        return _prepare_gate(rt, trigger)
    visits.require_open(rt, trigger.link, consent=trigger.has_consent)
    return {}


def _prepare_view(rt: Runtime, trigger: TriggerContext) -> Values:
    _fill_in_form(rt, trigger)
    size = page_range.reader_window(trigger.link).size
    if not size:
        hint = f"Change it: docshare settings set {trigger.link.file.short_id} --pages FROM-TO"
        raise Problem("conflict", "The page range contains no pages of the document, so nobody can view it.", hint=hint)
    time_ms = trigger.values.get("timeMs")
    pages = trigger.values.get("pagesViewed") or min(
        _DEFAULT_PAGES, size, (time_ms or _DEFAULT_PAGE_MS) // simulated_reading.MIN_PAGE_MS
    )
    if pages > size:
        raise Problem("bad_request", f"Readers of this link see {size} pages, so {pages} cannot be viewed.", hint="")
    time_ms = time_ms or pages * _DEFAULT_PAGE_MS
    least_ms = pages * simulated_reading.MIN_PAGE_MS
    if time_ms < least_ms:
        detail = f"{pages} pages take at least {least_ms} ms: a page counts as viewed after a second."
        raise Problem("bad_request", detail, hint="Set a larger timeMs, or fewer pagesViewed.")
    return {"pagesViewed": pages, "timeMs": time_ms}


def _cause_view(rt: Runtime, trigger: TriggerContext, values: Values) -> None:
    """Record a completed reading: it lies entirely in the past, so the session ends now."""
    token = visits.admit_reader(rt, trigger.link, _fill_in_form(rt, trigger))
    began = rt.clock() - simulated_reading.FIRST_BEACON_MS - values["timeMs"] - reading.HIDDEN_TIMEOUT_MS
    visits.simulate_reading(rt, trigger.link, token, began, values["pagesViewed"], values["timeMs"])
    viewing.end_due_sessions(rt)


def _prepare_invite_view(rt: Runtime, trigger: TriggerContext) -> Values:
    require_plan(links.owner_plan(rt, trigger.link), "invites.create", "An invitation")
    known = {email: (name, viewed_at) for email, name, viewed_at in sharing.list_invitees(rt.db, trigger.link.file.id)}
    email = invites.parse_invite({"email": trigger.values.get("email", _next_invitee_email(known))}).email
    name, viewed_at = known.get(email, (trigger.values.get("name", _READER_NAME), None))
    if viewed_at is not None:
        detail = f"{email} has opened the document before; only the first time is an event."
        raise Problem("conflict", detail, hint="Set another email, or none.")
    if name != trigger.values.get("name", name):
        invited = f"as {name}" if name else "without a name"
        raise Problem("conflict", f"{email} was invited {invited}.", hint="Omit the name.")
    invitation = invites.parse_invite({"email": email, "name": name})
    somebody = SharedInvite(0, "", "", invitation.email, invitation.name)
    visits.require_open(rt, replace(trigger.link, invite=somebody), consent=trigger.has_consent)
    return drop_none({"email": invitation.email, "name": invitation.name})


def _next_invitee_email(known: Mapping[str, Any]) -> str:
    number = 1
    while (email := f"invitee{number}@{_DOMAIN}") in known and known[email][1] is not None:
        number += 1
    return email


def _cause_invite_view(rt: Runtime, trigger: TriggerContext, values: Values) -> None:
    """Create an invitation without an email, and open its link. The session ends by the usual rule, a minute later."""
    invitation = Invitation(values["email"], values.get("name"), mail=False)
    row = invites.create_any(rt, trigger.link.file.uuid, invitation)
    link = links.resolve(rt, row.short_id)
    if link is None:
        raise Problem("not_found", "The file no longer exists.")
    token = visits.admit_reader(rt, link)
    visits.simulate_reading(
        rt, link, token, rt.clock() - simulated_reading.FIRST_BEACON_MS - _INVITEE_READING_MS, 1, _INVITEE_READING_MS
    )


# --- downloads and feedback ------------------------------------------------------------------------------------------


def _prepare_download(rt: Runtime, trigger: TriggerContext) -> Values:
    link = trigger.link
    _fill_in_form(rt, trigger)
    if link.variant is not None and json.loads(link.variant.overrides).get("allowDownload") is False:
        hint = f"Switch it on: docshare variants update {link.variant.uuid} --download"
        raise Problem("conflict", "The variant does not allow downloads.", hint=hint)
    if not link.settings["allowDownload"]:
        _require_settings(rt, link, "allowDownload")
    return {}


def _cause_download(rt: Runtime, trigger: TriggerContext, _: Values) -> None:
    token = visits.admit_reader(rt, trigger.link, _fill_in_form(rt, trigger))
    downloads.download_copy(rt, trigger.link, None, token, None).file.close()


def _prepare_gate(rt: Runtime, trigger: TriggerContext) -> Values:
    """Return the answers to the gate form, by the keys of its fields."""
    link = trigger.link
    what = entry.find_requirements(link)
    entry.check_entry(rt, link, visits.no_viewer_token, opening=True)  # raises for a dead link
    if PASSWORD in what.kinds:
        hint = f"Clear it: docshare settings clear {link.file.short_id} password"
        raise Problem("conflict", "The link requires a password, which the server does not know.", hint=hint)
    if GATE not in what.kinds:
        hint = f"Switch it on: docshare settings set {link.file.short_id} requireEmail=true"
        raise Problem("conflict", "The link does not ask readers for an email address or a form.", hint=hint)
    if gates.VIEW in what.kinds and not trigger.has_consent:
        raise visits.consent_required()
    answers = _build_answers(what, trigger.values)
    try:
        return gates.validate_form(what, answers)
    except Problem as problem:
        raise Problem(problem.code, problem.detail, hint=_suggest_value(what, problem)) from None


def _suggest_value(what: LinkRequirements, problem: Problem) -> str:
    """Return a hint that names the value to set for the first field that the form rejects."""
    key, error = next(iter(problem.extra["errors"].items()))
    name = "email" if key == gates.find_email(what, {field.key: "" for field in what.form})[0] else f"{FORM_KEY}.{key}"
    if problem.code == "forbidden":
        error = f"Use an address at {' or '.join(what.domains)}."
    return f"Change --set {name}. {error}"


def _build_answers(what: LinkRequirements, given: Mapping[str, Any]) -> dict[str, str]:
    """Return the form values: those ``given``, and examples for the other fields. The key ``email`` stands for the
    form's email field, whatever its key is."""
    key, _ = gates.find_email(what, {field.key: "" for field in what.form})
    answers = {**given.get(FORM_KEY, {}), **({key: given["email"]} if "email" in given else {})}
    unknown = sorted(answers.keys() - {field.key for field in what.form})
    if unknown:
        keys = ", ".join(("email", *(f"{FORM_KEY}.{field.key}" for field in what.form)))
        raise Problem("bad_request", f"The form of the link has no field {unknown[0]}.", hint=f"Keys: {keys}.")
    domain = what.domains[0] if what.domains else _DOMAIN
    examples = {**_EXAMPLE_ANSWERS, "email": f"{_EXAMPLE_ANSWERS['email']}@{domain}"}
    return {field.key: answers.get(field.key, examples[field.type]) for field in what.form}


def _cause_gate(rt: Runtime, trigger: TriggerContext, values: Values) -> None:
    entry.admit_viewer(
        rt,
        trigger.link.public_id,
        trigger.link,
        None,
        EntrySubmission("", values, entry.issue_ticket(rt), visits.VISITOR_ADDRESS),
    )


def _prepare_note(rt: Runtime, trigger: TriggerContext) -> Values:
    visits.require_open(rt, trigger.link, consent=trigger.has_consent)
    _require_settings(rt, trigger.link, "commentsEnabled", "commentsAllowPublic")
    _resolve_page(trigger)
    return {"author": _READER_NAME, "body": "An example of a note.", **trigger.values}


def _cause_note(rt: Runtime, trigger: TriggerContext, values: Values) -> None:
    body = {"author": values["author"], "body": values["body"], "page": _resolve_page(trigger), "public": True}
    notes.add(rt, _create_reader(rt, trigger), body)


def _prepare_receipt(rt: Runtime, trigger: TriggerContext) -> Values:
    visits.require_open(rt, trigger.link, consent=trigger.has_consent)
    _require_settings(rt, trigger.link, "askReceipt")
    return {"name": _READER_NAME, **trigger.values}


def _cause_receipt(rt: Runtime, trigger: TriggerContext, values: Values) -> None:
    receipts.confirm(rt, _create_reader(rt, trigger), values)


def _prepare_proofing(rt: Runtime, trigger: TriggerContext) -> Values:
    visits.require_open(rt, trigger.link, consent=trigger.has_consent)
    settings = trigger.link.settings
    draws = settings["annotationsEnabled"] and not settings["marksEnabled"]
    kind = trigger.values.get("kind") or ("annotation" if draws else "mark")
    _require_settings(rt, trigger.link, f"{kind}sEnabled")
    first = page_range.reader_window(trigger.link).first
    _resolve_page(trigger)
    return {"kind": kind, "pageNumber": trigger.values.get("pageNumber", first)}


def _cause_proofing(rt: Runtime, trigger: TriggerContext, values: Values) -> None:
    reader, page = _create_reader(rt, trigger), _resolve_page(trigger) or 1
    if values["kind"] == "mark":
        marks.set_mark(rt, reader, page, {"mark": MARKS[0]})
    else:
        annotations.add(rt, reader, {"page": page, "rect": _RECT, "note": "An example of an annotation."})


def _create_reader(rt: Runtime, trigger: TriggerContext) -> ReaderContext:
    """Create a new reader, so that their feedback is their first."""
    return readers.resolve_reader(rt, trigger.link, None, visits.admit_reader(rt, trigger.link))


def _resolve_page(trigger: TriggerContext) -> int | None:
    """Return the requested page number, as readers count. Raises ``not_found`` for a page that they do not see."""
    number = trigger.values.get("pageNumber")
    page = None if number is None else page_range.reader_window(trigger.link).to_reader_page(number)
    if page is None and number is not None:
        raise Problem("not_found", f"Readers of this link do not see a page {number}.", hint="Set another pageNumber.")
    return page


# --- changes to the file ---------------------------------------------------------------------------------------------


def _prepare_burn(_: Runtime, trigger: TriggerContext) -> Values:
    file = trigger.link.file
    if trigger.link.state == lifecycle.BURNED:
        raise Problem(
            "conflict", "The link has burned already; its content is deleted half an hour after the last view.", hint=""
        )
    if trigger.link.state == lifecycle.EXPIRED:
        raise Problem("gone", "The link has expired; nobody can use up its views.")
    if file.view_limit is None:
        hint = f"Set one: docshare settings set {file.short_id} viewLimit=1"
        raise Problem("conflict", "The file has no view limit, so it never burns.", hint=hint)
    return {}


def _cause_burn(rt: Runtime, trigger: TriggerContext, _: Values) -> None:
    """Use up the remaining views half an hour ago, and delete the burned file."""
    file = trigger.link.file
    then = visits.runtime_at(rt, rt.clock() - BURN_DELAY_MS)
    with rt.db.write(file.owner_id):
        for _unit in range(file.view_limit or 0):
            if not burn.consume_view(then, file.id, file.owner_id):
                break
    burn.destroy_due(rt)


def _prepare_replacement(rt: Runtime, trigger: TriggerContext) -> Values:
    require_plan(links.owner_plan(rt, trigger.link), "files.replace", "Replacing the document of a link")
    if not rt.blobs.exists(trigger.link.file.blob):
        raise Problem("gone", "The content was deleted; replace it with another document.")
    return {}


def _cause_replacement(rt: Runtime, trigger: TriggerContext, _: Values) -> None:
    """Replace the document by a copy of itself; hotspots and feedback are kept."""
    file = trigger.link.file
    part = rt.blobs.create_partial()
    try:
        with sealed_blobs.open_blob(rt, file.blob).open() as source:
            while block := source.read(_BLOCK_BYTES):
                part.write(block)
        received = ReceivedFile(file.original_name, "application/pdf", part)
        replacing.replace_document(rt, _load_owner(rt, trigger.link), file.uuid, received, clear_anchors=("false",))
    except BaseException:
        part.discard()
        raise


def _load_owner(rt: Runtime, link: Link) -> Caller:
    account = accounts.find_by_id(rt.db, link.file.owner_id)
    assert account is not None  # the files of a deleted account are deleted with it
    return make_account_caller(account, held_scopes(Lane.SESSION), Lane.SESSION, "")


TRIGGER_ACTIONS: dict[str, TriggerAction] = {
    "file.viewed": TriggerAction(_prepare_view, _cause_view),
    "file.downloaded": TriggerAction(_prepare_download, _cause_download),
    "gate.completed": TriggerAction(_prepare_gate, _cause_gate),
    "note.created": TriggerAction(_prepare_note, _cause_note),
    "receipt.confirmed": TriggerAction(_prepare_receipt, _cause_receipt),
    "file.burned": TriggerAction(_prepare_burn, _cause_burn, allows_variant=False),
    "content.replaced": TriggerAction(_prepare_replacement, _cause_replacement, allows_variant=False),
    "invite.viewed": TriggerAction(_prepare_invite_view, _cause_invite_view, allows_variant=False),
    "proofing.updated": TriggerAction(_prepare_proofing, _cause_proofing),
}
