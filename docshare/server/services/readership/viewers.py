"""Viewers: people who left something of themselves on a link, known again by a random token in their browser.

Marks, notes, receipts and gates know a reader by a first-party token per file. Whoever only reads has none.
"""

from typing import NamedTuple

from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import digest
from docshare.server.services.links.links import Link

_TOKEN_CHARS = 40
_PSEUDONYM_BYTES = 2  # of a pseudonym; longer ones once many are taken


class ViewerRow(NamedTuple):
    """One person on one link. ``pseudonym`` such as ``Reader 7F3A``, stable on this file; ``email`` and ``name`` as
    they gave them, None while unknown; ``proofed_at`` ms of the first mark or annotation."""

    id: int
    file_id: int
    variant_id: int | None
    invite_id: int | None
    pseudonym: str
    email: str | None
    name: str | None
    proofed_at: int | None


class KnownViewer(NamedTuple):
    """A viewer, and the ``token`` to hand to their browser if they had none before."""

    viewer: ViewerRow
    token: str | None


_COLUMNS = ", ".join(ViewerRow._fields)
_FIND = f"SELECT {_COLUMNS} FROM viewers WHERE digest = ?"  # noqa: S608 - columns from the row
_ADD = (
    "INSERT OR IGNORE INTO viewers (digest, file_id, variant_id, invite_id, pseudonym, email, name, created_at) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)


def find(rt: Runtime, link: Link, token: str | None) -> ViewerRow | None:
    """The viewer of ``link`` whose browser holds ``token``; None for nobody, or for one of another link."""
    if not token:
        return None
    found = rt.db.recall(_FIND, (digest(token),))
    if found is None:
        return None
    viewer = ViewerRow._make(found)
    return viewer if (viewer.file_id, viewer.variant_id, viewer.invite_id) == _link_ids(link) else None


def find_or_create(rt: Runtime, link: Link, token: str | None, *, given: str | None = None) -> KnownViewer:
    """The viewer of ``link`` who holds ``token``, or a new one, in the caller's transaction. An invitee's address and
    name are known from the start. ``given`` is the token of a new one, who gets a random one otherwise."""
    viewer = find(rt, link, token)
    if viewer is not None:
        return KnownViewer(viewer, None)
    given = given or rt.token(_TOKEN_CHARS)
    invite = link.invite
    person = (invite.email, invite.name) if invite else (None, None)
    size = _PSEUDONYM_BYTES
    while True:
        pseudonym = f"Reader {rt.secret(size).hex().upper()}"
        row = (digest(given), *_link_ids(link), pseudonym, *person, rt.clock())
        if rt.db.execute(_ADD, row):
            break
        size += 1  # taken: of few letters there are few names
    viewer = find(rt, link, given)
    assert viewer is not None
    return KnownViewer(viewer, given)


def identity(viewer: ViewerRow, link: Link) -> str:
    """Who ``viewer`` is to the owner: the invitee's address, or the pseudonym."""
    return link.invite.email if link.invite else viewer.pseudonym


def find_contact(viewer: ViewerRow | None, link: Link) -> tuple[str | None, str | None]:
    """The address and the name of whoever reads through ``link``, None while unknown. An invitee is who was invited,
    whatever they typed at the gate: that is in the contacts."""
    invite = link.invite
    if invite is not None:
        return invite.email, invite.name
    return (viewer.email, viewer.name) if viewer else (None, None)


def _link_ids(link: Link) -> tuple[int, int | None, int | None]:
    return link.file.id, link.variant and link.variant.id, link.invite and link.invite.id
