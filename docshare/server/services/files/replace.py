"""Another document behind the same link: the link, its readership and its settings stay."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from docshare.contract.features import require_plan
from docshare.contract.problems import Problem
from docshare.server.http.multipart import ReceivedFile
from docshare.server.rules import intake as intake_rules
from docshare.server.rules import replacement as rules
from docshare.server.rules.page_window import is_empty
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller, recheck_caller
from docshare.server.services.events import activity
from docshare.server.services.files import files, intake, tenants, trials
from docshare.server.services.files.intake import StoredDocument

_TARGET = "SELECT id, uuid, content_version, blob, delete_at FROM files WHERE id = ?"
_CARRIED_OVER = (
    "SELECT f.settings, EXISTS (SELECT 1 FROM variants WHERE file_id = f.id "
    "AND json_extract(overrides, '$.pageRange.to') > 0), f.burned_at, f.views_consumed FROM files f WHERE f.id = ?"
)
# The range of a variant that was revoked is looked at too: it may come back.
_EMPTY_VARIANTS = (
    "SELECT COUNT(*) FROM variants WHERE file_id = ? AND overrides ->> '$.pageRange.to' > 0 "
    "AND overrides ->> '$.pageRange.from' > ?"
)
_REPLACE = (
    "UPDATE files SET original_name = ?, size = ?, total_pages = ?, page_sizes = ?, sha256 = ?, blob = ?, "
    "content_version = ?, updated_at = ?, burned_at = NULL, destroyed_at = NULL, views_consumed = ? WHERE id = ?"
)
_ADD_REVISION = (
    "INSERT INTO revisions (file_id, content_version, original_name, size, total_pages, sha256, created_at) "
    "SELECT id, content_version, original_name, size, total_pages, sha256, updated_at FROM files WHERE id = ?"
)
# An anchor is on a page; a note about the whole document has none and stays. What was proofed on the pages
# goes and stays with hotspots and notes. What stays on a page that the new version lacks is shown nowhere until one has
# that page again.
_CLEAR = "DELETE FROM {} WHERE file_id = ? AND page IS NOT NULL"
_COUNT = "SELECT COUNT(*) FROM {} WHERE file_id = ? AND page IS NOT NULL"
_UPDATE_VERSION = "UPDATE {} SET content_version = ? WHERE file_id = ?"


@dataclass(frozen=True)
class ReplacementResult:
    """The result: ``size`` in bytes of the stored PDF; the counts are of what was cleared; ``warning`` is about the new
    document. ``page_range_empty``: the page range of the file has no page in the new version; ``empty_variants``: how
    many links have a range of their own of which that is true; ``left_out``: the linked pictures that a conversion left
    out."""

    uuid: str
    content_version: int
    original_name: str
    size: int
    anchors_cleared: bool
    warning: str | None
    cleared_hotspots: int
    cleared_notes: int
    cleared_marks: int
    cleared_annotations: int
    page_range_empty: bool = field(kw_only=True)
    empty_variants: int = field(kw_only=True)
    left_out: tuple[str, ...] = field(kw_only=True, default=())


class Anchors(NamedTuple):
    """How much stands on the pages of a file."""

    hotspots: int
    notes: int
    marks: int
    annotations: int


class ReplacementTarget(NamedTuple):
    """The file whose content is replaced, as it stood when that was judged."""

    id: int
    uuid: str
    content_version: int
    blob: str
    delete_at: int | None


def admit(rt: Runtime, caller: Caller, name: str, length: int | None) -> int:
    """Judge a replacement of the file ``name`` (UUID or short id) by what is known before its bytes.

    ``length`` and the result as of ``intake.admit``; no slot is asked for. Raises ``not_found``, ``forbidden`` (another
    account's), ``plan_required`` below Pro, ``gone`` (expired), ``payload_too_large``, ``unavailable``.
    """
    _get_target(rt, caller, name)
    return intake.admit_size(rt, caller.plan, length)


def replace_document(
    rt: Runtime, caller: Caller, name: str, received: ReceivedFile, *, clear_anchors: Sequence[str] = ()
) -> ReplacementResult:
    """Put ``received`` behind the link ``name`` as its next version, durable; a burned link lives again.

    Parameters: ``clear_anchors`` the values of the query parameter. Raises as ``admit`` and ``intake.store``,
    ``unauthorized`` when the key was revoked meanwhile, and
    ``conflict`` when the file was changed meanwhile: whoever writes first wins, so no version exists twice.
    """
    target = _get_target(rt, caller, name)
    document = intake.store_document(rt, caller.plan, received, tenants.account_tenant_key(caller.account_id))
    try:
        with rt.db.write():
            # While the bytes were inspected the plan may have ended, and the row been trashed, replaced or expired.
            caller = recheck_caller(rt, caller)
            intake_rules.require_size(caller.plan, document.size)
            if _get_target(rt, caller, name).content_version != target.content_version:
                raise Problem("conflict", "The document was changed while this one was being received.")
            result = store_next_version(rt, target, document, keep=rules.parse_keep_anchors(clear_anchors))
    except BaseException as error:
        intake.discard_blob(rt, document.blob, error)
        raise
    delete_replaced(rt, target)
    trials.try_file(rt, target.uuid)
    return result


def delete_replaced(rt: Runtime, target: ReplacementTarget) -> None:
    """Remove the bytes and pages of what stood at ``target`` before ``swap``, once that is committed."""
    # The row is the truth from here on. Bytes that cannot be removed now have no row and go at the next start.
    with suppress(OSError):
        rt.blobs.delete(target.blob)
    rt.pages.forget(target.uuid, target.content_version)


def count_anchors(rt: Runtime, caller: Caller, name: str) -> Anchors:
    """What a replacement of the caller's file ``name`` (UUID or short id) would clear. Raises ``not_found``."""
    file = files.get_owned(rt, caller, name)
    return Anchors(*(rt.db.rows(_COUNT.format(table), (file.id,))[0][0] for table in Anchors._fields))


def _get_target(rt: Runtime, caller: Caller, name: str) -> ReplacementTarget:
    """The file to replace, judged in the order of the specification."""
    file_id = files.get_active_id(rt, caller, name)
    require_plan(caller.plan, "files.replace", "Replacing the document of a link")
    found = rt.db.row(_TARGET, (file_id,))
    if found is None:  # it went between the two reads
        raise files.file_not_found()
    target = ReplacementTarget._make(found)
    rules.require_not_expired(target.delete_at, rt.clock())
    return target


def store_next_version(
    rt: Runtime, target: ReplacementTarget, document: StoredDocument, *, keep: bool
) -> ReplacementResult:
    """Write ``document`` down as the next version of ``target``, in the caller's transaction; then ``retire`` the old.

    Parameters: ``keep`` whether anchors stay. Raises ``payload_too_large`` where the link's settings forbid the size.
    """
    now = rt.clock()
    version = target.content_version + 1
    settings, variants_trim, burned_at, consumed = rt.db.rows(_CARRIED_OVER, (target.id,))[0]
    rules.require_servable(settings, bool(variants_trim), document.size)
    content = (document.name, document.size, document.total_pages, document.page_sizes, document.sha256, document.blob)
    used = rules.reset_views_consumed(burned_at, consumed)
    rt.db.execute(_REPLACE, (*content, version, now, used, target.id))
    rt.db.execute(_ADD_REVISION, (target.id,))
    if keep:
        for table in ("marks", "annotations"):
            rt.db.execute(_UPDATE_VERSION.format(table), (version, target.id))
    cleared = [0 if keep else rt.db.execute(_CLEAR.format(table), (target.id,)) for table in Anchors._fields]
    activity.record(rt, target.id, "content.replaced", {"contentVersion": version}, at=now)
    empty = is_empty(document.total_pages, json.loads(settings).get("pageRange"))
    ((variants,),) = rt.db.rows(_EMPTY_VARIANTS, (target.id, document.total_pages))
    return ReplacementResult(
        target.uuid,
        version,
        document.name,
        document.size,
        not keep,
        document.warning,
        *cleared,
        page_range_empty=empty,
        empty_variants=variants,
        left_out=document.left_out,
    )
