"""Invite readers: a personal link for one email address."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from docshare.contract import fields
from docshare.contract.features import require_plan
from docshare.contract.limits import INVITE_NAME_CHARS, INVITES_PER_FILE
from docshare.contract.problems import Problem
from docshare.contract.wire import drop_none
from docshare.server.rules import lifecycle
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.events import activity
from docshare.server.services.files import files, short_ids
from docshare.server.services.files.files import FileRow
from docshare.server.services.links import links, sender
from docshare.server.services.operations import mail
from docshare.server.services.operations.mail import InlineImage, MailRow
from docshare.server.store.blobs import StorageUnreachableError
from docshare.server.store.tables import files as file_rows
from docshare.server.store.tables import sessions as session_table
from docshare.server.store.tables import sharing
from docshare.server.store.tables.sharing import InviteRow as InviteRow

_MAIL_IMAGE_TYPES = ("image/png", "image/jpeg")
_MAIL_IMAGE_BYTES = 200 * 1024


@dataclass(frozen=True)
class InviteInput:
    """Whom to invite, and whether to send them a mail."""

    email: str
    name: str | None
    mail: bool


def parse_invite(body: Mapping[str, Any]) -> InviteInput:
    """Parse the body of a create request: ``email``, and optionally ``name`` and ``mail`` (default: true).

    Raises ``bad_request`` naming the field. Unknown keys are ignored.
    """
    name = fields.text_parser(0, INVITE_NAME_CHARS)("name", body["name"]) if "name" in body else None
    mail_wanted = fields.parse_boolean("mail", body["mail"]) if "mail" in body else True
    return InviteInput(fields.parse_email("email", body.get("email")), name or None, mail_wanted)


def list_invites(rt: Runtime, caller: Caller, name: str) -> list[InviteRow]:
    """Return the invites to the caller's file ``name`` (UUID or short id), newest first.

    Raises ``plan_required`` below Pro, ``not_found``.
    """
    require_plan(caller.plan, "invites.list", "The list of invitations")
    file = files.get_owned(rt, caller, name)
    return sharing.list_invites(rt.db, file.id)


def create(rt: Runtime, caller: Caller, name: str, body: Mapping[str, Any]) -> tuple[InviteRow, bool]:
    """Invite the person in ``body`` (see ``parse_invite``) to the caller's file ``name``; return the invite, and
    whether it is new. An address that was invited before keeps its link and gets no second mail.

    Raises ``plan_required`` below Pro, ``not_found``, ``gone`` when the link can no longer be opened, ``bad_request``
    when the file has the maximum number of invites.
    """
    require_plan(caller.plan, "invites.create", "An invitation")
    with rt.db.write(caller.account_id):
        file: FileRow = files.get_owned(rt, caller, name)
        return _create_invite(rt, file.id, parse_invite(body))


def create_any(rt: Runtime, name: str, wanted: InviteInput) -> InviteRow:
    """Invite a person to the file ``name`` for the operator, whatever account and plan it belongs to. Raises
    ``not_found``, ``gone``, ``bad_request``."""
    with rt.db.write():
        file_id = file_rows.find_owned_by_anybody(rt.db, name.lower(), name)
        if file_id is None:
            raise files.admin_file_not_found(name)
        return _create_invite(rt, file_id, wanted)[0]


def record_view(rt: Runtime, invite_id: int, now: int) -> None:
    """Store, in the caller's transaction, that the invitee was counted as a reader; record an event the first time."""
    if not sharing.mark_invite_viewed(rt.db, invite_id, now):
        return
    found = sharing.find_invitee(rt.db, invite_id)
    if found is not None:
        file_id, email, name = found
        activity.record(rt, file_id, "invite.viewed", drop_none({"email": email, "name": name}), at=now)


def retract_view(rt: Runtime, invite_id: int, viewed_at: int) -> None:
    """Delete, in the caller's transaction, what ``record_view`` stored at ``viewed_at`` (ms), with the deliveries of
    the event, sent or not; the session counted then is deleted by now. If another session of the invitee is
    counted, record that one instead. Does nothing if the invitee was counted before ``viewed_at``."""
    found = sharing.find_invitee(rt.db, invite_id)
    if found is None or not sharing.unmark_invite_viewed(rt.db, invite_id, viewed_at):
        return
    file_id, email, _ = found
    activity.retract(rt, file_id, "invite.viewed", at=viewed_at, email=email)
    first = session_table.find_first_view_of_invite(rt.db, invite_id)
    if first is not None:
        record_view(rt, invite_id, first)


def find_mail_logo(rt: Runtime, row: MailRow) -> InlineImage | None:
    """Return the logo of the sender for the mail ``row``, or None if it is not an invitation or has no logo.

    Logos above 200 kB, types that many mail programs do not show, and logos that the store cannot read are left out.
    """
    if row.file_id is None or row.notice is not None:
        return None
    invite = sharing.find_invite(rt.db, row.file_id, row.recipient)
    link = None if invite is None else links.resolve(rt, invite.short_id)
    logo = None if link is None else sender.find_logo(rt, link)
    if logo is None or logo.mime_type not in _MAIL_IMAGE_TYPES:
        return None
    try:
        with logo.path.open() as source:
            content = source.read(_MAIL_IMAGE_BYTES + 1)
    # Replaced since it was found, or not readable now: the mail is more important than the logo.
    except (OSError, StorageUnreachableError):
        return None
    return None if len(content) > _MAIL_IMAGE_BYTES else InlineImage(content, logo.mime_type)


def _create_invite(rt: Runtime, file_id: int, wanted: InviteInput) -> tuple[InviteRow, bool]:
    now = rt.clock()
    _require_live(rt, file_id, now)
    existing = sharing.find_invite(rt.db, file_id, wanted.email)
    if existing is not None:
        return existing, False
    if sharing.count_invites(rt.db, file_id) >= INVITES_PER_FILE:
        raise Problem("bad_request", f"The file has {INVITES_PER_FILE} invitations, the maximum for a file.")
    row = InviteRow(rt.random_uuid(), short_ids.create_short_id(rt), wanted.email, wanted.name, now, None)
    sharing.insert_invite(rt.db, file_id, row)
    if wanted.mail:
        _enqueue_mail(rt, file_id, row)
    return row, True


def _require_live(rt: Runtime, file_id: int, now: int) -> None:
    burned_at, delete_at = file_rows.get_end(rt.db, file_id)
    state = lifecycle.file_state(trashed_at=None, burned_at=burned_at, delete_at=delete_at, now=now)
    if state != lifecycle.LIVE:
        raise Problem("gone", f"This link is {state}, so an invitee could not open it.")


def _enqueue_mail(rt: Runtime, file_id: int, row: InviteRow) -> None:
    found = sharing.find_invite_sender(rt.db, file_id)
    if found is None:
        return
    # A gate hides the name of the document, so the mail does not contain it either.
    what = "a document" if found.protected or found.gated else f'"{found.document}"'
    is_shown = sender.is_shown(found.settings)
    shared = f"{what[:1].upper()}{what[1:]} was shared with you"
    body = (
        f"Hello{f' {row.name}' if row.name else ''},\n\n"
        f"{f'{found.owner} ({found.email}) shares {what} with you' if is_shown else shared}:\n\n"
        f"    {rt.config.base_url}/{row.short_id}\n\n"
        "This link is personal: anyone who opens it is recorded as you, so please do not share it.\n"
        "The sender can see when it was opened and which pages were read.\n"
    )
    subject = f"{found.owner} shares {what} with you" if is_shown else shared
    mail.enqueue(rt, row.email, subject, body, file_id=file_id)
