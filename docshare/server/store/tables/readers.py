"""Viewers, their grants and their taps, and the salts of readers' names."""

import json
from typing import NamedTuple

from peewee import SQL, BlobField, CompositeKey, ForeignKeyField, IntegerField, TextField

from docshare.server.store.database import Store
from docshare.server.store.tables.base import BatchedTable, Row
from docshare.server.store.tables.files import File
from docshare.server.store.tables.hotspots import Hotspot
from docshare.server.store.tables.sharing import Invite, Variant


class Viewer(BatchedTable, Row):
    digest = TextField(unique=True)  # SHA-256 of the token in the reader's browser
    file = ForeignKeyField(File, on_delete="CASCADE", index=False)
    variant = ForeignKeyField(Variant, null=True, on_delete="SET NULL", index=False)
    invite = ForeignKeyField(Invite, null=True, on_delete="SET NULL", index=False)
    pseudonym = TextField()
    email = TextField(null=True)
    name = TextField(null=True)
    created_at = IntegerField()
    proofed_at = IntegerField(null=True)  # of the first mark or annotation

    class Meta:
        table_name = "viewers"
        indexes = (
            (("file", "pseudonym"), True),
            SQL("CREATE INDEX viewers_invite ON viewers(invite_id) WHERE invite_id IS NOT NULL"),
            SQL("CREATE INDEX viewers_variant ON viewers(variant_id) WHERE variant_id IS NOT NULL"),
        )


class ReaderSalt(Row):
    file = ForeignKeyField(File, primary_key=True, on_delete="CASCADE", index=False)
    salt = BlobField()
    created_at = IntegerField()

    class Meta:
        table_name = "reader_salts"


class Grant(Row):
    viewer = ForeignKeyField(Viewer, on_delete="CASCADE", index=False)
    kind = TextField()
    content_version = IntegerField()
    seal = TextField()
    granted_at = IntegerField()

    class Meta:
        table_name = "grants"
        primary_key = CompositeKey("viewer", "kind")
        without_rowid = True


class Tap(BatchedTable, Row):
    file = ForeignKeyField(File, on_delete="CASCADE", index=False)
    hotspot = ForeignKeyField(Hotspot, null=True, on_delete="CASCADE", index=False)  # None: the call to action
    tapped_at = IntegerField()

    class Meta:
        table_name = "taps"
        indexes = (
            SQL("CREATE INDEX taps_file ON taps(file_id, hotspot_id)"),
            SQL("CREATE INDEX taps_hotspot ON taps(hotspot_id) WHERE hotspot_id IS NOT NULL"),
        )


# ``tests.benchmarks.page_warm`` runs this for every page image of a reader who passed the gate. In one row, so that it
# can be cached.
_SELECT_GRANTS = (
    "SELECT JSON_ARRAYAGG(JSON_ARRAY(kind, content_version, seal, granted_at) ORDER BY kind) FROM grants "
    "WHERE viewer_id = ?"
)


def recall_grants(store: Store, viewer_id: int) -> list[tuple[str, int, str, int]]:
    """Return the grants of a viewer as ``(kind, content_version, seal, granted_at)``."""
    found = store.fetch_cached(_SELECT_GRANTS, (viewer_id,))
    return [tuple(row) for row in json.loads(found[0])] if found else []


def replace_grant(store: Store, viewer_id: int, kind: str, content_version: int, seal: str, now: int) -> None:
    """Insert or replace the grant of one kind that a viewer holds."""
    new = (Grant.content_version, Grant.seal, Grant.granted_at)
    query = Grant.insert(viewer=viewer_id, kind=kind, content_version=content_version, seal=seal, granted_at=now)
    store.execute(query.on_conflict(conflict_target=(Grant.viewer, Grant.kind), preserve=new))


def delete_grants_of_file(store: Store, file_id: int) -> None:
    """Delete the grants of all viewers of a file."""
    viewers = Viewer.select(Viewer.id).where(Viewer.file == file_id)
    store.execute(Grant.delete().where(Grant.viewer.in_(viewers)))


def delete_grants_of_variant(store: Store, variant_id: int) -> None:
    """Delete the grants of all viewers of a variant."""
    viewers = Viewer.select(Viewer.id).where(Viewer.variant == variant_id)
    store.execute(Grant.delete().where(Grant.viewer.in_(viewers)))


def set_viewer_email(store: Store, viewer_id: int, email: str | None) -> None:
    """Store the email that a viewer gave."""
    store.execute(Viewer.update(email=email).where(Viewer.id == viewer_id))


class ViewerRow(NamedTuple):
    """One viewer of one link. ``pseudonym`` is a name such as ``Reader 7F3A``, stable on this file; ``email`` and
    ``name`` are None until the viewer enters them; ``proofed_at`` in ms, of the first mark or annotation."""

    id: int
    file_id: int
    variant_id: int | None
    invite_id: int | None
    pseudonym: str
    email: str | None
    name: str | None
    proofed_at: int | None


# Of every request of a reader with a token, as ``_SELECT_GRANTS``.
_FIND_VIEWER = f"SELECT {', '.join(ViewerRow._fields)} FROM viewers WHERE digest = ?"  # noqa: S608 - columns from the row


def recall_viewer(store: Store, digest: str) -> ViewerRow | None:
    """Return the viewer whose token has that digest, or None."""
    found = store.fetch_cached(_FIND_VIEWER, (digest,))
    return ViewerRow._make(found) if found else None


def insert_viewer(
    store: Store,
    digest: str,
    *,
    file_id: int,
    variant_id: int | None,
    invite_id: int | None,
    pseudonym: str,
    email: str | None,
    name: str | None,
    now: int,
) -> bool:
    """Store a new viewer. Return False if the pseudonym is taken."""
    query = Viewer.insert(
        digest=digest,
        file=file_id,
        variant=variant_id,
        invite=invite_id,
        pseudonym=pseudonym,
        email=email,
        name=name,
        created_at=now,
    )
    return store.execute(query.on_conflict_ignore()) > 0


def mark_proofed(store: Store, viewer_id: int, now: int) -> bool:
    """Store when a viewer left their first mark or annotation. Return False if that is stored already."""
    query = Viewer.update(proofed_at=now).where(Viewer.id == viewer_id, Viewer.proofed_at.is_null())
    return store.execute(query) > 0


def insert_tap(store: Store, file_id: int, hotspot_id: int | None, now: int) -> None:
    """Store a tap on a hotspot, or on the call to action if ``hotspot_id`` is None."""
    store.execute(Tap.insert(file=file_id, hotspot=hotspot_id, tapped_at=now))


def count_cta_taps(store: Store, file_id: int, between: tuple[int, int]) -> int:
    """Return the number of taps on the call to action of a file ``between`` two instants (ms, the second excluded)."""
    first, end = between
    is_between = (Tap.tapped_at >= first) & (Tap.tapped_at < end)
    return int(Tap.select().where(Tap.file == file_id, Tap.hotspot.is_null(), is_between).count(store.engine))


# Run for every new session, by the benchmark ``beacons``.
_SELECT_SALT = "SELECT salt, created_at FROM reader_salts WHERE file_id = ?"


def find_salt(store: Store, file_id: int) -> tuple[bytes, int] | None:
    """Return the reader salt of a file and when it was created (ms), or None."""
    found = store.fetch_one(_SELECT_SALT, (file_id,))
    return (bytes(found[0]), found[1]) if found else None


def replace_salt(store: Store, file_id: int, salt: bytes, now: int) -> None:
    """Store a new reader salt of a file."""
    query = ReaderSalt.insert(file=file_id, salt=salt, created_at=now)
    preserved = (ReaderSalt.salt, ReaderSalt.created_at)
    store.execute(query.on_conflict(conflict_target=(ReaderSalt.file,), preserve=preserved))


def delete_salts(store: Store, created_by: int) -> int:
    """Delete the reader salts created at or before ``created_by``. Return how many."""
    return store.execute(ReaderSalt.delete().where(ReaderSalt.created_at <= created_by))
