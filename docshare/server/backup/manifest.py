"""Read and write the manifest of a backup, which lists every member with its size and SHA-256.

The manifest is written last, so a backup without one is incomplete; the digest of the manifest identifies the backup.
A member is either one of ``NAMES`` or the content of one or more blobs, stored once under its SHA-256.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

FORMAT, VERSION = "docshare-backup", 1
START, MANIFEST = "backup.json", "manifest.json"
DATABASE, VAULT_KEY, CONFIG = "docshare.db", "vault.key", "config.toml"
NAMES = (DATABASE, VAULT_KEY, CONFIG)
# In a directory a name ends with the start of its digest, so that a backup does not overwrite the one before.
_PATH_PATTERN = re.compile(
    r"blobs/(?P<prefix>[0-9a-f]{2})/(?P<blob>(?P=prefix)[0-9a-f]{62})"
    r"|(?P<name>docshare\.db|vault\.key|config\.toml)(?:\.[0-9a-f]{16})?"
)
_DIGEST_PATTERN = re.compile(r"[0-9a-f]{64}")
_KEY_PATTERN = re.compile(r"[0-9A-Za-z]{16,64}")
_MAX_TIME_MS = 253_402_300_800_000  # ms; the year 10000


class InvalidBackup(Exception):
    """The backup must not be restored; the message gives the reason in one sentence."""


@dataclass(frozen=True)
class Member:
    """One file of a backup: ``path`` within it, ``size`` in bytes, ``sha256`` in hex."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True)
class BlobContent:
    """The content of blobs: ``size`` in bytes, and the ``keys`` of the blobs with this content."""

    size: int
    keys: tuple[str, ...]


@dataclass(frozen=True)
class Manifest:
    """The content of a backup.

    ``program``: the version of docshare that made it; ``schema``: the step of the database schema; ``created_at``: ms;
    ``files``: the members in ``NAMES``, by name; ``blobs``: contents by SHA-256; ``damaged``: the damage that blobs had
    when they were backed up, by key (``missing`` or ``changed``); ``instance``: the id of the instance, empty in older
    backups.
    """

    program: str
    schema: int
    created_at: int
    counts: dict[str, int]
    files: dict[str, Member]
    blobs: dict[str, BlobContent]
    damaged: dict[str, str]
    instance: str = ""

    def iterate_members(self) -> Iterator[Member]:
        """Yield every member except the manifest."""
        yield from self.files.values()
        for digest, content in self.blobs.items():
            yield Member(blob_path(digest), content.size, digest)

    @property
    def size(self) -> int:
        """Return the size of all members in bytes."""
        return sum(member.size for member in self.iterate_members())

    def digests_by_key(self) -> dict[str, str]:
        """Return the SHA-256 of every blob by key."""
        return {key: digest for digest, content in self.blobs.items() for key in content.keys}

    def to_bytes(self) -> bytes:
        """Serialize the manifest; equal manifests give equal bytes."""
        value = {
            "format": FORMAT,
            "version": VERSION,
            "program": self.program,
            "schema": self.schema,
            "createdAt": self.created_at,
            "counts": self.counts,
            "files": {name: [one.path, one.size, one.sha256] for name, one in self.files.items()},
            "blobs": {digest: [content.size, *content.keys] for digest, content in self.blobs.items()},
            "damaged": self.damaged,
            "instance": self.instance,
        }
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def blob_path(digest: str) -> str:
    """Return the path of the content with the SHA-256 ``digest``."""
    return f"blobs/{digest[:2]}/{digest}"


def parse_member_digest(path: str) -> str | None:
    """Return the SHA-256 in ``path``, or None for a member of ``NAMES``. Raises InvalidBackup for any other path."""
    match = _PATH_PATTERN.fullmatch(path)
    if match is None:
        raise InvalidBackup(f"it contains {path!r}, which is not part of a backup")
    return match["blob"]


def parse_manifest(data: bytes) -> Manifest:
    """Parse a manifest. Raises InvalidBackup for one that is damaged or of a later version."""
    value = _parse_object(data, MANIFEST)
    try:
        files = {name: Member(*entry) for name, entry in value["files"].items()}
        blobs = {digest: BlobContent(size, tuple(keys)) for digest, (size, *keys) in value["blobs"].items()}
        manifest = Manifest(
            str(value["program"]),
            value["schema"],
            value["createdAt"],
            dict(value["counts"]),
            files,
            blobs,
            dict(value["damaged"]),
            str(value.get("instance", "")),
        )
        is_valid = _is_valid(manifest)
    except (KeyError, TypeError, ValueError, AttributeError):
        is_valid = False
    if not is_valid:
        raise InvalidBackup(f"its {MANIFEST} is damaged")
    return manifest


def _is_valid(manifest: Manifest) -> bool:
    whole = [manifest.schema, *manifest.counts.values(), *(member.size for member in manifest.iterate_members())]
    keys = [key for content in manifest.blobs.values() for key in content.keys]
    return (
        all(isinstance(number, int) and number >= 0 for number in whole)
        and 0 <= manifest.created_at < _MAX_TIME_MS
        and set(manifest.damaged.values()) <= {"missing", "changed"}
        and DATABASE in manifest.files
        and all(_has_member_name(name, member.path) for name, member in manifest.files.items())
        and all(_DIGEST_PATTERN.fullmatch(member.sha256) for member in manifest.iterate_members())
        and all(_KEY_PATTERN.fullmatch(key) for key in (*keys, *manifest.damaged))
        and len(keys) == len(set(keys))
    )


def _has_member_name(name: str, path: str) -> bool:
    match = _PATH_PATTERN.fullmatch(path)
    return match is not None and match["name"] == name


def build_start(size: int) -> bytes:
    """Return the content of the first member of an archive; ``size``: the most bytes between it and the manifest."""
    value = {"format": FORMAT, "version": VERSION, "bytes": size}
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def parse_start(data: bytes) -> int:
    """Return the most bytes between the first member ``data`` and the manifest. Raises InvalidBackup."""
    size = _parse_object(data, START).get("bytes")
    if not isinstance(size, int) or size < 0:
        raise InvalidBackup(f"its {START} is damaged")
    return size


def _parse_object(data: bytes, name: str) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise InvalidBackup(f"its {name} is damaged") from None
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise InvalidBackup("it is not a backup of docshare")
    if value.get("version") != VERSION:
        raise InvalidBackup("it was made by a later docshare; upgrade docshare")
    return value
