"""Invitations: a personal link for one e-mail address."""

from collections.abc import Mapping
from typing import Any, NamedTuple

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
from docshare.server.services.operations import mail


class InviteRow(NamedTuple):
    """What an invitation is drawn from. Times in milliseconds, ``viewed_at`` of the first counted view or None."""

    uuid: str
    short_id: str
    email: str
    name: str | None
    created_at: int
    viewed_at: int | None


class InviteInput(NamedTuple):
    """Whom to invite, and whether a mail tells them."""

    email: str
    name: str | None
    mail: bool


_COLUMNS = ", ".join(InviteRow._fields)
_OF_FILE = f"SELECT {_COLUMNS} FROM invites WHERE file_id = ?"  # noqa: S608 - columns from the row
_LIST = f"{_OF_FILE} ORDER BY id DESC"
_ONE = f"{_OF_FILE} AND email = ?"
_ADD = "INSERT INTO invites (uuid, short_id, file_id, email, name, created_at) VALUES (?, ?, ?, ?, ?, ?)"
_OWNER = (
    "SELECT a.name, a.email, f.original_name, f.password_hash IS NOT NULL, "
    "f.settings ->> 'requireEmail' IS 1 OR f.settings ->> 'gateFields' IS NOT NULL "
    "FROM files f JOIN accounts a ON a.id = f.owner_id WHERE f.id = ?"
)
_ANY_FILE = "SELECT id FROM files WHERE (uuid = ? OR short_id = ?) AND trashed_at IS NULL AND owner_id IS NOT NULL"
_MARK_VIEWED = "UPDATE invites SET viewed_at = ? WHERE id = ? AND viewed_at IS NULL"


def parse_invite(body: Mapping[str, Any]) -> InviteInput:
    """Read the body of a create: ``email``, and if wanted ``name`` and ``mail`` (default true).

    Raises ``bad_request`` naming the field. Unknown keys are ignored.
    """
    name = fields.text_parser(0, INVITE_NAME_CHARS)("name", body["name"]) if "name" in body else None
    mail_wanted = fields.parse_boolean("mail", body["mail"]) if "mail" in body else True
    return InviteInput(fields.parse_email("email", body.get("email")), name or None, mail_wanted)


def list_invites(rt: Runtime, caller: Caller, name: str) -> list[InviteRow]:
    """The invitations to the caller's file ``name`` (UUID or short id), newest first.

    Raises ``plan_required`` below Pro, ``not_found``.
    """
    require_plan(caller.plan, "invites.list", "The list of invitations")
    file = files.get_owned(rt, caller, name)
    return [InviteRow._make(found) for found in rt.db.rows(_LIST, (file.id,))]


def create(rt: Runtime, caller: Caller, name: str, body: Mapping[str, Any]) -> tuple[InviteRow, bool]:
    """Invite whom ``body`` names (as ``read_wish``) to the caller's file ``name``: the invitation, and whether it is
    new. An address that was invited before keeps its link, and no second mail is written.

    Raises ``plan_required`` below Pro, ``not_found``, ``gone`` when nobody could follow the link any more,
    ``bad_request`` when the file has as many as it can.
    """
    require_plan(caller.plan, "invites.create", "An invitation")
    with rt.db.write():
        file: FileRow = files.get_owned(rt, caller, name)
        return _create_invite(rt, file.id, parse_invite(body))


def create_any(rt: Runtime, name: str, wish: InviteInput) -> InviteRow:
    """As ``create``, for the operator: whosever file it is, on whatever plan. Raises ``not_found``, ``gone``,
    ``bad_request``."""
    with rt.db.write():
        found = rt.db.row(_ANY_FILE, (name.lower(), name))
        if found is None:
            raise files.admin_file_not_found(name)
        return _create_invite(rt, found[0], wish)[0]


def record_view(rt: Runtime, invite_id: int, now: int) -> None:
    """Write down, in the caller's transaction, that the invitee was counted as a reader; the first time is told."""
    if rt.db.execute(_MARK_VIEWED, (now, invite_id)) == 0:
        return
    found = rt.db.row("SELECT file_id, email, name FROM invites WHERE id = ?", (invite_id,))
    if found is not None:
        file_id, email, name = found
        activity.record(rt, file_id, "invite.viewed", drop_none({"email": email, "name": name}), at=now)


def _create_invite(rt: Runtime, file_id: int, wish: InviteInput) -> tuple[InviteRow, bool]:
    _require_live(rt, file_id)
    standing = rt.db.row(_ONE, (file_id, wish.email))
    if standing is not None:
        return InviteRow._make(standing), False
    found = rt.db.row("SELECT COUNT(*) FROM invites WHERE file_id = ?", (file_id,))
    if found and found[0] >= INVITES_PER_FILE:
        raise Problem("bad_request", f"A file can have at most {INVITES_PER_FILE} invitations.")
    row = InviteRow(rt.uuid(), short_ids.create_short_id(rt), wish.email, wish.name, rt.clock(), None)
    rt.db.execute(_ADD, (row.uuid, row.short_id, file_id, row.email, row.name, row.created_at))
    if wish.mail:
        _enqueue_mail(rt, file_id, row)
    return row, True


def _require_live(rt: Runtime, file_id: int) -> None:
    ((burned_at, delete_at),) = rt.db.rows("SELECT burned_at, delete_at FROM files WHERE id = ?", (file_id,))
    state = lifecycle.file_state(trashed_at=None, burned_at=burned_at, delete_at=delete_at, now=rt.clock())
    if state != lifecycle.LIVE:
        raise Problem("gone", f"This link is {state}; nobody invited to it could read.")


def _enqueue_mail(rt: Runtime, file_id: int, row: InviteRow) -> None:
    found = rt.db.row(_OWNER, (file_id,))
    if found is None:
        return
    owner, address, document, protected, gated = found
    # A document that is named to nobody before its gate is not named in a mail either.
    what = "a document" if protected or gated else f'"{document}"'
    body = (
        f"Hello{f' {row.name}' if row.name else ''},\n\n"
        f"{owner} ({address}) shares {what} with you:\n\n"
        f"    {rt.config.base_url}/{row.short_id}\n\n"
        "This link is yours alone: whoever opens it reads in your name, so please do not pass it on.\n"
        "The sender can see when it was opened and which pages were read.\n"
    )
    mail.enqueue(rt, row.email, f"{owner} shares {what} with you", body, file_id=file_id)
