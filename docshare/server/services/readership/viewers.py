"""Viewers: readers who left feedback or passed a gate on a link, recognized by a random token in their browser.

The token is in a cookie for one link. A reader who only reads has none.
"""

from typing import NamedTuple

from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import digest
from docshare.server.services.links.links import Link
from docshare.server.store.tables import readers as reader_tables
from docshare.server.store.tables.readers import ViewerRow as ViewerRow

_TOKEN_CHARS = 40
_PSEUDONYM_BYTES = 2  # random bytes of a pseudonym; more if it is in use


class KnownViewer(NamedTuple):
    """A viewer, and the ``token`` to send to their browser if they had none before."""

    viewer: ViewerRow
    token: str | None


def find(rt: Runtime, link: Link, token: str | None) -> ViewerRow | None:
    """Return the viewer of ``link`` whose browser holds ``token``; None if the token is unknown or of another link."""
    if not token:
        return None
    viewer = reader_tables.recall_viewer(rt.db, digest(token))
    if viewer is None:
        return None
    return viewer if (viewer.file_id, viewer.variant_id, viewer.invite_id) == _link_ids(link) else None


def find_or_create(rt: Runtime, link: Link, token: str | None, *, given: str | None = None) -> KnownViewer:
    """Return the viewer of ``link`` who holds ``token``, or create one, in the caller's transaction.

    A new viewer gets the email and the name of the invitation, and the ``given`` token or a random one.
    """
    viewer = find(rt, link, token)
    if viewer is not None:
        return KnownViewer(viewer, None)
    given = given or rt.random_token(_TOKEN_CHARS)
    invite = link.invite
    email, name = (invite.email, invite.name) if invite else (None, None)
    file_id, variant_id, invite_id = _link_ids(link)
    now = rt.clock()
    size = _PSEUDONYM_BYTES
    while True:
        pseudonym = f"Reader {rt.random_bytes(size).hex().upper()}"
        is_stored = reader_tables.insert_viewer(
            rt.db,
            digest(given),
            file_id=file_id,
            variant_id=variant_id,
            invite_id=invite_id,
            pseudonym=pseudonym,
            email=email,
            name=name,
            now=now,
        )
        if is_stored:
            break
        size += 1  # the pseudonym is in use; a longer one is less likely to be
    viewer = find(rt, link, given)
    assert viewer is not None
    return KnownViewer(viewer, given)


def identity(viewer: ViewerRow, link: Link) -> str:
    """Return the name of ``viewer`` for the owner: the invitee's email, or the pseudonym."""
    return link.invite.email if link.invite else viewer.pseudonym


def find_contact(viewer: ViewerRow | None, link: Link) -> tuple[str | None, str | None]:
    """Return the email and the name of the reader of ``link``, None while unknown.

    For an invitee, these are the values of the invitation; the list of contacts has those of the gate form.
    """
    invite = link.invite
    if invite is not None:
        return invite.email, invite.name
    return (viewer.email, viewer.name) if viewer else (None, None)


def _link_ids(link: Link) -> tuple[int, int | None, int | None]:
    return link.file.id, link.variant and link.variant.id, link.invite and link.invite.id
