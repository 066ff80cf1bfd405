"""Resolve the name in a share address to a link."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from docshare.contract.fields import is_short_id, is_uuid
from docshare.contract.patterns import SLUG
from docshare.contract.plans import Plan
from docshare.server.rules import lifecycle, tiles
from docshare.server.rules.settings import read_settings
from docshare.server.rules.tiles import ZoomTile
from docshare.server.runtime import Runtime
from docshare.server.store.tables import accounts, contents
from docshare.server.store.tables import links as link_rows
from docshare.server.store.tables.links import SharedFile as SharedFile
from docshare.server.store.tables.links import SharedInvite as SharedInvite
from docshare.server.store.tables.links import SharedVariant as SharedVariant


@dataclass(frozen=True)
class Link:
    """A share link of an existing file.

    ``public_id``: what the addresses of the page are built from, the short id or UUID that the reader used, the short
    id if they used the slug; ``state``: ``live``, ``expired`` or ``burned``; ``variant`` and ``invite``: whose link it
    is, both None on the canonical link. The conditions for opening a link are in ``entry``.

    Readers of a variant and invitees must not receive any field of ``file`` that names the canonical link.
    """

    file: SharedFile
    public_id: str
    state: str
    variant: SharedVariant | None = None
    invite: SharedInvite | None = None

    @property
    def short_id(self) -> str:
        """Return the short id that the reader of this link may know."""
        return (self.variant or self.invite or self.file).short_id

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """Return every setting by wire name, as it is in effect for readers of this link: that of the variant, of the
        file, or the default."""
        return read_settings(self.file.settings, "{}" if self.variant is None else self.variant.overrides)


def resolve(rt: Runtime, name: str) -> Link | None:
    """Return the link ``name``, or None.

    A name is a UUID in either case or a short id in its exact case, of a file or of a variant; the short id of an
    invite; or a slug. Ids take precedence over slugs. Unknown names, revoked variants and files in the trash all return
    None, so that nobody can distinguish them.
    """
    key = name.lower() if is_uuid(name) else name
    link = rt.db.recall(("link", key), lambda: _find(rt, key))
    if link is None:
        return None
    file = link.file
    state = lifecycle.file_state(
        trashed_at=file.trashed_at, burned_at=file.burned_at, delete_at=file.delete_at, now=rt.clock()
    )
    if state == lifecycle.TRASHED:
        return None
    # Not the cached object, which would keep the settings that a request reads.
    return Link(file, link.public_id, state, link.variant, link.invite)


def find_owner_id(rt: Runtime, name: str) -> int | None:
    """Return the id of the account that owns the file behind the link ``name``; None too for an unknown link."""
    link = resolve(rt, name)
    return link.file.owner_id if link else None


def load_page_sizes(rt: Runtime, link: Link) -> list[list[float]]:
    """Return the page sizes of the file of ``link``: runs of [pages, width, height] in points."""
    stored = contents.find_page_sizes(rt.db, link.file.id)
    runs: list[list[float]] = json.loads(stored) if stored else []
    return runs


def is_current_version(rt: Runtime, file_uuid: str, content_version: int) -> bool:
    """Return whether the file is active and this is still its document."""
    return contents.is_current_version(rt.db, file_uuid, content_version)


def find_tile(rt: Runtime, link: Link, page: int, grid: str, column: int, row: int) -> ZoomTile | None:
    """Return a tile of ``page`` of the document of ``link``, or None if the page has no such tile."""
    return tiles.find_tile(load_page_sizes(rt, link), page, grid, column, row)


def owner_plan(rt: Runtime, link: Link) -> Plan:
    """Return the current plan of the owner of ``link``; a file without an owner is on Free.

    Pro settings are checked against it whenever pages are served.
    """
    plan = accounts.recall_plan(rt.db, link.file.owner_id)
    return Plan.FREE if plan is None else Plan(plan)


def _find(rt: Runtime, name: str) -> Link | None:
    """Return the link ``name``, a UUID of it in lower case, as if it were live; or None."""
    return _find_by_id(rt, name) or _find_by_slug(rt, name)


def _find_by_id(rt: Runtime, name: str) -> Link | None:
    if is_short_id(name):
        column = "short_id"
    elif is_uuid(name):
        column = "uuid"
    else:
        return None
    file = link_rows.find_file(rt.db, column, name)
    if file is not None:
        return Link(file, name, lifecycle.LIVE)
    through_variant = link_rows.find_variant(rt.db, column, name)
    if through_variant is not None:
        variant, file = through_variant
        return Link(file, name, lifecycle.LIVE, variant=variant)
    through_invite = link_rows.find_invite(rt.db, name) if column == "short_id" else None
    if through_invite is None:
        return None
    invite, file = through_invite
    return Link(file, name, lifecycle.LIVE, invite=invite)


def _find_by_slug(rt: Runtime, name: str) -> Link | None:
    file = link_rows.find_file_by_slug(rt.db, name) if SLUG.fullmatch(name) else None
    return None if file is None else Link(file, file.short_id, lifecycle.LIVE)
