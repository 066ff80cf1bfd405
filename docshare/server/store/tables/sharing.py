"""Variants and invites of a link, reserved short ids, and the tokens of files without an owner."""

from typing import Any, NamedTuple

from peewee import SQL, ForeignKeyField, IntegerField, TextField

from docshare.server.store.database import Store
from docshare.server.store.database_file import DatabaseFile
from docshare.server.store.tables.base import NocaseField, Row, SequenceField
from docshare.server.store.tables.files import File


class ShortId(Row):
    short_id = TextField(primary_key=True)

    class Meta:
        table_name = "short_ids"
        without_rowid = True


class Variant(Row):
    id = SequenceField()
    uuid = TextField(unique=True)
    short_id = TextField(unique=True)
    file = ForeignKeyField(File, on_delete="CASCADE", index=False)
    label = TextField(null=True)
    overrides = TextField(default="{}")  # JSON: allowDownload, pageRange, readerChoice as sent
    created_at = IntegerField()
    revoked_at = IntegerField(null=True)
    redacted_at = IntegerField(null=True)
    download_warning = TextField(null=True)

    class Meta:
        table_name = "variants"
        indexes = (SQL("CREATE INDEX variants_file ON variants(file_id, id)"),)


class Invite(Row):
    id = SequenceField()
    uuid = TextField(unique=True)
    short_id = TextField(unique=True)
    file = ForeignKeyField(File, on_delete="CASCADE", index=False)
    email = NocaseField()
    name = TextField(null=True)
    created_at = IntegerField()
    viewed_at = IntegerField(null=True)

    class Meta:
        table_name = "invites"
        indexes = (SQL("CREATE UNIQUE INDEX invites_address ON invites (file_id, NOCASE(email))"),)


class FileToken(Row):
    digest = TextField(primary_key=True)
    file = ForeignKeyField(File, null=True, on_delete="SET NULL", index=False)  # None: the file was deleted
    kind = TextField()  # manage or claim
    expires_at = IntegerField()

    class Meta:
        table_name = "file_tokens"
        without_rowid = True
        indexes = (SQL("CREATE INDEX file_tokens_file ON file_tokens(file_id)"),)


class VariantRow(NamedTuple):
    """A variant with the page count of its file. Times in milliseconds; ``overrides`` is JSON as stored."""

    id: int
    uuid: str
    short_id: str
    label: str | None
    overrides: str
    created_at: int
    revoked_at: int | None
    redacted_at: int | None
    download_warning: str | None
    total_pages: int  # of the file


class InviteRow(NamedTuple):
    """An invite. Times in milliseconds; ``viewed_at`` is that of the first counted view or None."""

    uuid: str
    short_id: str
    email: str
    name: str | None
    created_at: int
    viewed_at: int | None


_SELECT_INVITE_OF_ADDRESS = (
    f"SELECT {', '.join(InviteRow._fields)} FROM invites "  # noqa: S608 - columns from the row
    "WHERE file_id = ? AND NOCASE(email) = NOCASE(?)"
)
_STORE_VARIANT_WARNING = (
    "UPDATE variants SET download_warning = ? WHERE id = ? AND overrides = ? AND download_warning IS DISTINCT FROM ? "
    "AND EXISTS (SELECT 1 FROM files WHERE id = ? AND content_version = ? AND settings = ?)"
)


def list_variants(store: Store, file_id: int) -> list[VariantRow]:
    """Return the variants of a file, newest first, revoked and redacted ones too."""
    return [VariantRow._make(found) for found in store.fetch_all(_select_variants(file_id).order_by(Variant.id.desc()))]


def find_variant(store: Store, file_id: int, uuid: str) -> VariantRow | None:
    """Return the variant ``uuid`` of a file, or None."""
    found = store.fetch_one(_select_variants(file_id).where(Variant.uuid == uuid))
    return VariantRow._make(found) if found else None


def _select_variants(file_id: int) -> Any:
    columns = (getattr(Variant, name) for name in VariantRow._fields[:-1])
    return Variant.select(*columns, File.total_pages).join(File).where(Variant.file == file_id)


def find_variant_label(store: Store, variant_id: int) -> tuple[str | None] | None:
    """Return the label of a variant as a tuple of one, or None if the variant was deleted."""
    return store.fetch_one(Variant.select(Variant.label).where(Variant.id == variant_id))


def count_variants(store: Store, file_id: int) -> int:
    """Return how many variants a file has, revoked ones too."""
    return int(Variant.select().where(Variant.file == file_id).count(store.engine))


def insert_variant(
    store: Store, uuid: str, short_id: str, file_id: int, *, label: str | None, overrides: str, now: int
) -> None:
    """Insert a variant. ``overrides`` is JSON."""
    store.execute(
        Variant.insert(uuid=uuid, short_id=short_id, file=file_id, label=label, overrides=overrides, created_at=now)
    )


def update_variant(store: Store, variant_id: int, *, label: str | None, overrides: str, revoked_at: int | None) -> None:
    """Replace the label, the overrides (JSON) and the revocation of a variant."""
    changes = {Variant.label: label, Variant.overrides: overrides, Variant.revoked_at: revoked_at}
    store.execute(Variant.update(changes).where(Variant.id == variant_id))


def erase_variant_label(store: Store, variant_id: int) -> None:
    """Erase the label of a variant."""
    store.execute(Variant.update(label=None).where(Variant.id == variant_id))


def mark_variant_redacted(store: Store, variant_id: int, now: int) -> None:
    """Store when the label of a variant was redacted."""
    store.execute(Variant.update(redacted_at=now).where(Variant.id == variant_id))


def delete_variant(store: Store, variant_id: int) -> None:
    """Delete a variant."""
    store.execute(Variant.delete().where(Variant.id == variant_id))


def has_variant_warning(store: Store, variant_id: int) -> bool:
    """Return whether a download warning is stored for a variant."""
    query = Variant.select().where(Variant.id == variant_id, Variant.download_warning.is_null(False))
    return bool(query.exists(store.engine))


def store_variant_warning(
    store: Store,
    variant_id: int,
    reason: str | None,
    *,
    overrides: str,
    file_id: int,
    content_version: int,
    settings: str,
) -> None:
    """Store the download warning of a variant, or erase it with None.

    Nothing is stored if the variant or its file has changed since the caller read them.
    """
    tried = (overrides, reason, file_id, content_version, settings)
    store.execute(_STORE_VARIANT_WARNING, (reason, variant_id, *tried))


def list_with_invalid_overrides(database: DatabaseFile) -> list[str]:
    """Return the UUIDs of the variants whose overrides are not JSON."""
    return [uuid for (uuid,) in database.fetch_all("SELECT uuid FROM variants WHERE NOT json_valid(overrides)")]


def list_invites(store: Store, file_id: int) -> list[InviteRow]:
    """Return the invites of a file, newest first."""
    columns = (getattr(Invite, name) for name in InviteRow._fields)
    found = store.fetch_all(Invite.select(*columns).where(Invite.file == file_id).order_by(Invite.id.desc()))
    return [InviteRow._make(row) for row in found]


def find_invite(store: Store, file_id: int, email: str) -> InviteRow | None:
    """Return the invite of ``email``, in either case, to a file, or None."""
    found = store.fetch_one(_SELECT_INVITE_OF_ADDRESS, (file_id, email))
    return InviteRow._make(found) if found else None


def find_invitee(store: Store, invite_id: int) -> tuple[int, str, str | None] | None:
    """Return the file id, the email and the name of an invite, or None."""
    found = store.fetch_one(Invite.select(Invite.file, Invite.email, Invite.name).where(Invite.id == invite_id))
    return (found[0], found[1], found[2]) if found else None


def count_invites(store: Store, file_id: int) -> int:
    """Return how many invites a file has."""
    return int(Invite.select().where(Invite.file == file_id).count(store.engine))


def insert_invite(store: Store, file_id: int, row: InviteRow) -> None:
    """Insert an invite that was not viewed yet."""
    values = row._asdict()
    del values["viewed_at"]
    store.execute(Invite.insert(**values, file=file_id))


def mark_invite_viewed(store: Store, invite_id: int, now: int) -> bool:
    """Store when the invitee was first counted as a reader; return False if that is stored already."""
    query = Invite.update(viewed_at=now).where(Invite.id == invite_id, Invite.viewed_at.is_null())
    return store.execute(query) > 0


def unmark_invite_viewed(store: Store, invite_id: int, viewed_at: int) -> bool:
    """Erase when the invitee was first counted as a reader if that was at ``viewed_at`` (ms); return whether it was."""
    query = Invite.update(viewed_at=None).where(Invite.id == invite_id, Invite.viewed_at == viewed_at)
    return store.execute(query) > 0


def recall_manage_token(store: Store, digest: str) -> tuple[int | None, int] | None:
    """Return the file id of a manage token, None if the file was deleted, and when the token expires; or None for an
    unknown token."""
    found = store.fetch_cached(
        "SELECT file_id, expires_at FROM file_tokens WHERE digest = ? AND kind = 'manage'", (digest,)
    )
    return (found[0], found[1]) if found else None


# The page range of a revoked variant is checked too, because the variant may be restored.
_COUNT_EMPTY_VARIANTS = (
    "SELECT COUNT(*) FROM variants WHERE file_id = ? AND JSON_VALUE(overrides, '$.pageRange.to') > 0 "
    "AND JSON_VALUE(overrides, '$.pageRange.from') > ?"
)


# Run for every upload, by the benchmark ``embedded``.
_INSERT_SHORT_ID = "INSERT INTO short_ids (short_id) VALUES (?) ON CONFLICT DO NOTHING"


def insert_short_id(store: Store, short_id: str) -> bool:
    """Reserve a short id for good; return False if it was reserved before."""
    return store.execute(_INSERT_SHORT_ID, (short_id,)) > 0


def is_slug_taken(store: Store, slug: str) -> bool:
    """Return whether ``slug`` is the slug of a file, even one in the trash, or equals any short id."""
    files, short_ids = File.select(File.slug), ShortId.select(ShortId.short_id)
    taken = files.where(File.slug == slug).union_all(short_ids.where(ShortId.short_id == slug))
    return store.fetch_one(taken) is not None


def count_empty_variants(store: Store, file_id: int, total_pages: int) -> int:
    """Return how many variants of a file have a page range without any of the first ``total_pages`` pages."""
    ((count,),) = store.fetch_all(_COUNT_EMPTY_VARIANTS, (file_id, total_pages))
    return int(count)


def list_changed_variants(store: Store, file_uuid: str, limit: int) -> list[str]:
    """Return the UUIDs of the newest active variants of a file that override one of its settings."""
    query = (
        Variant.select(Variant.uuid)
        .join(File)
        .where(File.uuid == file_uuid, Variant.revoked_at.is_null(), Variant.overrides != "{}")
    )
    return [uuid for (uuid,) in store.fetch_all(query.order_by(Variant.id.desc()).limit(limit))]


def insert_file_token(store: Store, digest: str, file_id: int, kind: str, expires_at: int) -> None:
    """Insert a token of a file. ``kind`` is ``claim`` or ``manage``."""
    store.execute(FileToken.insert(digest=digest, file=file_id, kind=kind, expires_at=expires_at))


def find_claim_token(store: Store, digest: str) -> tuple[int | None, int] | None:
    """Return the file id of a claim token, None if the file was deleted, and when the token expires; or None for an
    unknown token."""
    query = FileToken.select(FileToken.file, FileToken.expires_at)
    found = store.fetch_one(query.where(FileToken.digest == digest, FileToken.kind == "claim"))
    return (found[0], found[1]) if found else None


def delete_expired_claim_tokens(store: Store, file_id: int, now: int) -> None:
    """Delete the expired claim tokens of a file."""
    is_expired_claim = (FileToken.kind == "claim") & (FileToken.expires_at <= now)
    store.execute(FileToken.delete().where(FileToken.file == file_id, is_expired_claim))


def delete_orphaned_tokens(store: Store, now: int) -> int:
    """Delete the expired tokens of deleted files; return how many."""
    return store.execute(FileToken.delete().where(FileToken.file.is_null(), FileToken.expires_at <= now))


_SELECT_VARIANT_SESSIONS = """
SELECT v.uuid, v.label, COALESCE(t.sessions, 0), COALESCE(t.time_ms, 0), v.revoked_at, v.redacted_at
FROM variants v LEFT JOIN variant_tallies t ON t.variant_id = v.id WHERE v.file_id = ? ORDER BY v.id DESC
"""
_IS_VARIANT_ACTIVE = "SELECT 1 FROM variants WHERE id = ? AND revoked_at IS NULL"


def list_variant_sessions(store: Store, file_id: int) -> list[tuple[Any, ...]]:
    """Return ``(uuid, label, sessions, time_ms, revoked_at, redacted_at)`` of a file's variants, newest first."""
    return store.fetch_all(_SELECT_VARIANT_SESSIONS, (file_id,))


def is_variant_active(store: Store, variant_id: int) -> bool:
    """Return whether a variant exists and is not revoked."""
    return store.fetch_one(_IS_VARIANT_ACTIVE, (variant_id,)) is not None


def list_active_by_label(store: Store, file_id: int, label: str) -> list[str]:
    """Return the short ids of up to two active variants of a file with that label."""
    return _list_active(store, file_id, Variant.label == label)


def list_active_by_key(store: Store, file_id: int, key: str) -> list[str]:
    """Return the short id of the active variant of a file with that UUID or short id, in a list."""
    return _list_active(store, file_id, (Variant.uuid == key) | (Variant.short_id == key))


def _list_active(store: Store, file_id: int, condition: Any) -> list[str]:
    query = Variant.select(Variant.short_id).where(Variant.file == file_id, Variant.revoked_at.is_null(), condition)
    return [short_id for (short_id,) in store.fetch_all(query.limit(2))]


def list_invitees(store: Store, file_id: int) -> list[tuple[str, str | None, int | None]]:
    """Return ``(email, name, viewed_at)`` of the invitations of a file."""
    query = Invite.select(Invite.email, Invite.name, Invite.viewed_at).where(Invite.file == file_id)
    return [(email, name, viewed_at) for email, name, viewed_at in store.fetch_all(query)]


class InviteSender(NamedTuple):
    """The facts for a mail to an invitee. ``gated``: it asks for an email or a form; ``settings``: as stored."""

    owner: str
    email: str
    document: str
    protected: int
    gated: int
    settings: str


_SELECT_INVITE_SENDER = (
    "SELECT a.name, a.email, f.original_name, f.password_hash IS NOT NULL, "
    "JSON_TRUE(f.settings, 'requireEmail') = 1 OR JSON_EXISTS(f.settings, 'gateFields'), f.settings "
    "FROM files f JOIN accounts a ON a.id = f.owner_id WHERE f.id = ?"
)


def find_invite_sender(store: Store, file_id: int) -> InviteSender | None:
    """Return the facts of a file for a mail to an invitee, or None if the file has no owner."""
    return InviteSender(*found) if (found := store.fetch_one(_SELECT_INVITE_SENDER, (file_id,))) else None
