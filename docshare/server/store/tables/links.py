"""Find the file behind the name in a share link, with the variant or the invite that the name belongs to.

Every page image and every beacon needs this, so the statements are text (tests/benchmarks: page_warm and beacons), and
omit the page sizes, of which a file can have 50,000.
"""

from typing import NamedTuple

from docshare.server.store.database import Store


class SharedFile(NamedTuple):
    """The columns of a file that its share links need. Times in milliseconds."""

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
    """The variant of a link. ``overrides`` is JSON as stored."""

    id: int
    uuid: str
    short_id: str
    overrides: str


class SharedInvite(NamedTuple):
    """The invite of a personal link. ``name`` of the invitee or None."""

    id: int
    uuid: str
    short_id: str
    email: str
    name: str | None


class DeniedLink(NamedTuple):
    """The ids behind a link that somebody could not open. ``variant_id`` is 0 on the canonical link."""

    file_id: int
    variant_id: int
    owner_id: int | None


_FILE = ", ".join(f"f.{column}" for column in SharedFile._fields).replace("f.protected", "f.password_hash IS NOT NULL")
_VARIANT = ", ".join(f"v.{column}" for column in SharedVariant._fields)
_INVITE = ", ".join(f"i.{column}" for column in SharedInvite._fields)
_SELECT_FILE = {
    column: f"SELECT {_FILE} FROM files f WHERE f.{column} = ?"  # noqa: S608 - columns from the rows
    for column in ("uuid", "short_id", "slug")
}
# A revoked variant is not found, so its link looks like an unknown one.
_SELECT_VARIANT = {
    column: f"SELECT {_VARIANT}, {_FILE} FROM variants v JOIN files f ON f.id = v.file_id "  # noqa: S608 - as above
    f"WHERE v.{column} = ? AND v.revoked_at IS NULL"
    for column in ("uuid", "short_id")
}
_SELECT_INVITE = f"SELECT {_INVITE}, {_FILE} FROM invites i JOIN files f ON f.id = i.file_id WHERE i.short_id = ?"  # noqa: S608 - as above
_SELECT_REVOKED = {
    column: "SELECT f.id, v.id, f.owner_id FROM variants v JOIN files f ON f.id = v.file_id "  # noqa: S608 - two columns
    f"WHERE v.{column} = ? AND v.revoked_at IS NOT NULL AND f.trashed_at IS NULL"
    for column in ("uuid", "short_id")
}


def find_file(store: Store, column: str, key: str) -> SharedFile | None:
    """Return the file whose ``column`` (``uuid`` or ``short_id``) is ``key``, or None."""
    found = store.fetch_one(_SELECT_FILE[column], (key,))
    return SharedFile._make(found) if found else None


def find_file_by_slug(store: Store, slug: str) -> SharedFile | None:
    """Return the file with this slug, or None."""
    found = store.fetch_one(_SELECT_FILE["slug"], (slug,))
    return SharedFile._make(found) if found else None


def find_variant(store: Store, column: str, key: str) -> tuple[SharedVariant, SharedFile] | None:
    """Return the active variant whose ``column`` (``uuid`` or ``short_id``) is ``key``, with its file, or None."""
    found = store.fetch_one(_SELECT_VARIANT[column], (key,))
    if found is None:
        return None
    width = len(SharedVariant._fields)
    return SharedVariant._make(found[:width]), SharedFile._make(found[width:])


def find_invite(store: Store, short_id: str) -> tuple[SharedInvite, SharedFile] | None:
    """Return the invite with this short id, with its file, or None."""
    found = store.fetch_one(_SELECT_INVITE, (short_id,))
    if found is None:
        return None
    width = len(SharedInvite._fields)
    return SharedInvite._make(found[:width]), SharedFile._make(found[width:])


def recall_revoked(store: Store, column: str, key: str) -> DeniedLink | None:
    """Return the revoked variant whose ``column`` (``uuid`` or ``short_id``) is ``key``, or None."""
    found = store.fetch_cached(_SELECT_REVOKED[column], (key,))
    return DeniedLink._make(found) if found else None
