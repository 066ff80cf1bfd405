"""From the name in a share address to the file behind it (gap choices: Ids and addresses)."""

import json
import re
from dataclasses import dataclass
from typing import NamedTuple

from docshare.contract.fields import is_short_id, is_uuid
from docshare.contract.limits import SLUG_CHARS
from docshare.server.rules import lifecycle
from docshare.server.runtime import Runtime

_SLUG = re.compile(f"[a-z0-9-]{{1,{SLUG_CHARS}}}")

# Every page image asks this, so it goes past the models, and leaves the sizes of up to 50,000 pages where they are.
_SHARED = """
SELECT id, uuid, short_id, original_name, total_pages, content_version, blob, trashed_at, burned_at, delete_at
FROM files WHERE """


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


@dataclass(frozen=True)
class Link:
    """A share link that leads somewhere. ``public_id``: what the page's own addresses are keyed by, the short id or
    UUID the reader came with, the short id when the page came by its slug; ``state``: ``live``, ``expired`` or
    ``burned``."""

    file: SharedFile
    public_id: str
    state: str


def resolve(rt: Runtime, name: str) -> Link | None:
    """The link called ``name``: a UUID in either case, a short id in exactly its case, or a slug. Ids win over slugs.

    None for unknown names and for files in the trash, so that nobody can tell them apart.
    """
    now = rt.clock()
    file, public_id = _find(rt, name)
    if file is None:
        return None
    state = lifecycle.state(trashed_at=file.trashed_at, burned_at=file.burned_at, delete_at=file.delete_at, now=now)
    return None if state == lifecycle.TRASHED else Link(file, public_id, state)


def page_sizes(rt: Runtime, link: Link) -> list[list[float]]:
    """The sizes of the pages behind ``link``: runs of [pages, width, height] in points."""
    found = rt.db.row("SELECT page_sizes FROM files WHERE id = ?", (link.file.id,))
    runs: list[list[float]] = json.loads(found[0]) if found else []
    return runs


def short_id_of(rt: Runtime, name: str) -> str | None:
    """The short id of the file that ``name`` (UUID or short id, never a slug) leads to; None for unknown names and for
    files in the trash."""
    if is_uuid(name):
        found = rt.db.row("SELECT short_id FROM files WHERE uuid = ? AND trashed_at IS NULL", (name.lower(),))
    elif is_short_id(name):
        found = rt.db.row("SELECT short_id FROM files WHERE short_id = ? AND trashed_at IS NULL", (name,))
    else:
        return None
    return None if found is None else str(found[0])


def _find(rt: Runtime, name: str) -> tuple[SharedFile | None, str]:
    if is_uuid(name):
        name = name.lower()
        return _shared(rt, "uuid = ?", name), name
    file = _shared(rt, "short_id = ?", name) if is_short_id(name) else None
    if file is None and _SLUG.fullmatch(name):
        file = _shared(rt, "slug = ?", name)
    return file, file.short_id if file is not None else ""


def _shared(rt: Runtime, which: str, name: str) -> SharedFile | None:
    found = rt.db.row(_SHARED + which, (name,))
    return None if found is None else SharedFile(*found)
