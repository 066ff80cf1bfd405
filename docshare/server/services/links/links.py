"""From the name in a share address to the file behind it."""

import json
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from docshare.contract.fields import is_short_id, is_uuid
from docshare.contract.limits import SLUG_CHARS
from docshare.contract.plans import Plan
from docshare.server.rules import lifecycle
from docshare.server.runtime import Runtime

_SLUG = re.compile(f"[a-z0-9-]{{1,{SLUG_CHARS}}}")


class SharedFile(NamedTuple):
    """What a share link needs of its file. Times are milliseconds."""

    id: int
    uuid: str
    short_id: str
    original_name: str
    total_pages: int
    content_version: int
    blob: str
    trashed_at: int | None
    burned_at: int | None
    delete_at: int | None
    owner_id: int | None
    settings: str  # JSON as stored
    size: int  # bytes
    protected: int  # whether a password is set
    view_limit: int | None
    frozen_at: int | None
    sha256: str


class SharedVariant(NamedTuple):
    """The variant a link leads through; ``overrides`` is JSON as stored."""

    id: int
    uuid: str
    short_id: str
    overrides: str


class SharedInvite(NamedTuple):
    """The invitation a personal link belongs to; ``name`` of the invitee or None."""

    id: int
    uuid: str
    short_id: str
    email: str
    name: str | None


@dataclass(frozen=True)
class Link:
    """A share link that leads somewhere. ``public_id``: what the page's own addresses are keyed by, the short id or
    UUID the reader came with, the short id when the page came by its slug; ``state``: ``live``, ``expired`` or
    ``burned``; ``variant`` and ``invite``: whose link it is, both None on the canonical link. What a link asks before
    it opens stands in ``entry``.

    Nothing of ``file`` that names the canonical link may reach the reader of a variant or an invitee.
    """

    file: SharedFile
    public_id: str
    state: str
    variant: SharedVariant | None = None
    invite: SharedInvite | None = None

    @property
    def short_id(self) -> str:
        """The short id that this link may tell its reader."""
        return (self.variant or self.invite or self.file).short_id

    @property
    def overrides(self) -> dict[str, Any]:
        """What its variant sets otherwise than the file: ``allowDownload`` and ``pageRange``, where they are set."""
        return {} if self.variant is None else dict(json.loads(self.variant.overrides))


# Every page image asks this, so it goes past the models, and leaves the sizes of up to 50,000 pages where they are.
_FILE = ", ".join(f"f.{column}" for column in SharedFile._fields).replace("f.protected", "f.password_hash IS NOT NULL")
_VARIANT = ", ".join(f"v.{column}" for column in SharedVariant._fields)
_CANONICAL = {
    column: f"SELECT {_FILE} FROM files f WHERE f.{column} = ?"  # noqa: S608 - columns from the rows
    for column in ("uuid", "short_id", "slug")
}
# A revoked one is not found at all, so that nothing tells it from an unknown one.
_THROUGH_VARIANT = {
    column: f"SELECT {_VARIANT}, {_FILE} FROM variants v JOIN files f ON f.id = v.file_id "  # noqa: S608 - as above
    f"WHERE v.{column} = ? AND v.revoked_at IS NULL"
    for column in ("uuid", "short_id")
}
_INVITE = ", ".join(f"i.{column}" for column in SharedInvite._fields)
_THROUGH_INVITE = f"SELECT {_INVITE}, {_FILE} FROM invites i JOIN files f ON f.id = i.file_id WHERE i.short_id = ?"  # noqa: S608 - as above


def resolve(rt: Runtime, name: str) -> Link | None:
    """The link called ``name``: a UUID in either case or a short id in exactly its case, of a file or of a variant, the
    short id of an invitation, or a slug. Ids win over slugs.

    None for unknown names, revoked variants and files in the trash, so that nobody can tell them apart.
    """
    now = rt.clock()
    found = _find_by_id(rt, name) or _find_by_slug(rt, name)
    if found is None:
        return None
    file, public_id, whose = found
    state = lifecycle.file_state(
        trashed_at=file.trashed_at, burned_at=file.burned_at, delete_at=file.delete_at, now=now
    )
    if state == lifecycle.TRASHED:
        return None
    if isinstance(whose, SharedInvite):
        return Link(file, public_id, state, invite=whose)
    return Link(file, public_id, state, variant=whose)


def load_page_sizes(rt: Runtime, link: Link) -> list[list[float]]:
    """The sizes of the pages behind ``link``: runs of [pages, width, height] in points."""
    found = rt.db.row("SELECT page_sizes FROM files WHERE id = ?", (link.file.id,))
    runs: list[list[float]] = json.loads(found[0]) if found else []
    return runs


def owner_plan(rt: Runtime, link: Link) -> Plan:
    """The plan that the owner of ``link`` has now, against which Pro fields are checked whenever pages are served;
    nobody's file is on Free."""
    found = rt.db.recall("SELECT plan FROM accounts WHERE id = ?", (link.file.owner_id,))
    return Plan(found[0]) if found else Plan.FREE


_LinkMatch = tuple[SharedFile, str, SharedVariant | SharedInvite | None]


def _find_by_id(rt: Runtime, name: str) -> _LinkMatch | None:
    """The file, its public id, and the variant or invitation that ``name`` is of, if it is of one."""
    if is_uuid(name):
        column, key = "uuid", name.lower()
    elif is_short_id(name):
        column, key = "short_id", name
    else:
        return None
    found = rt.db.recall(_CANONICAL[column], (key,))
    if found is not None:
        return SharedFile._make(found), key, None
    found = rt.db.recall(_THROUGH_VARIANT[column], (key,))
    if found is not None:
        width = len(SharedVariant._fields)
        return SharedFile._make(found[width:]), key, SharedVariant._make(found[:width])
    found = rt.db.recall(_THROUGH_INVITE, (key,)) if column == "short_id" else None
    if found is None:
        return None
    width = len(SharedInvite._fields)
    return SharedFile._make(found[width:]), key, SharedInvite._make(found[:width])


def _find_by_slug(rt: Runtime, name: str) -> _LinkMatch | None:
    found = rt.db.row(_CANONICAL["slug"], (name,)) if _SLUG.fullmatch(name) else None
    if found is None:
        return None
    file = SharedFile._make(found)
    return file, file.short_id, None
