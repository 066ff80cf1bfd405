"""Replace the document behind a link; the link, its readership and its settings do not change."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from docshare.contract.features import require_plan
from docshare.contract.problems import Problem
from docshare.server.received_file import ReceivedFile
from docshare.server.rules import intake as intake_rules
from docshare.server.rules import replacement as rules
from docshare.server.rules.page_window import is_empty
from docshare.server.rules.settings import read_settings
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller, recheck_caller
from docshare.server.services.events import activity
from docshare.server.services.files import copy_checks, files, intake, removals, tenants
from docshare.server.services.files.intake import StoredDocument
from docshare.server.store.tables import contents, sharing
from docshare.server.store.tables import files as file_rows
from docshare.server.store.tables import removals as removal_rows
from docshare.server.store.tables.contents import ReplacementTarget as ReplacementTarget
from docshare.server.store.tables.dependents import ANCHORED_TABLES


@dataclass(frozen=True)
class ReplacementResult:
    """The result of a replacement. ``size`` in bytes of the stored PDF; the counts are those of deleted rows;
    ``warning`` about the new document. ``is_page_range_empty``: the page range of the file contains no page of the
    new version; ``empty_variants``: how many variants have such a range; ``left_out``: the linked pictures that the
    conversion left out."""

    uuid: str
    content_version: int
    original_name: str
    size: int
    are_anchors_cleared: bool
    warning: str | None
    cleared_hotspots: int
    cleared_notes: int
    cleared_marks: int
    cleared_annotations: int
    is_page_range_empty: bool = field(kw_only=True)
    empty_variants: int = field(kw_only=True)
    left_out: tuple[str, ...] = field(kw_only=True, default=())


class Anchors(NamedTuple):
    """How many rows of each kind are anchored to the pages of a file."""

    hotspots: int
    notes: int
    marks: int
    annotations: int


def admit(rt: Runtime, caller: Caller, name: str, length: int | None) -> int:
    """Check a replacement of the file ``name`` (UUID or short id) before its bytes arrive.

    ``length`` and the result are those of ``intake.admit_size``. Raises ``not_found``, ``forbidden`` (another
    account's), ``plan_required`` below Pro, ``gone`` (expired), ``payload_too_large``, ``unavailable``.
    """
    _get_target(rt, caller, name)
    return intake.admit_size(rt, caller.plan, length)


def replace_document(
    rt: Runtime, caller: Caller, name: str, received: ReceivedFile, *, clear_anchors: Sequence[str] = ()
) -> ReplacementResult:
    """Store ``received`` durably as the next version of the file ``name``; a burned link becomes live again.

    Parameters: ``clear_anchors`` the values of the query parameter. Raises what ``admit`` and ``intake.store_document``
    raise, ``unauthorized`` if the key was revoked during the upload, and ``conflict`` if the file was changed during
    the upload: the first write wins, so that every version exists once.
    """
    target = _get_target(rt, caller, name)
    document = intake.store_document(rt, caller.plan, received, tenants.account_tenant_key(caller.account_id))
    with replacement_transaction(rt, document, target):
        # During the inspection the plan may have changed, and the file been trashed, replaced or expired.
        caller = recheck_caller(rt, caller)
        intake_rules.require_size(caller.plan, document.size)
        if _get_target(rt, caller, name).content_version != target.content_version:
            raise Problem("conflict", "The document was changed while the server received the new one.")
        return store_next_version(rt, target, document, keep=rules.parse_keep_anchors(clear_anchors))


@contextmanager
def replacement_transaction(rt: Runtime, document: StoredDocument, target: ReplacementTarget) -> Iterator[None]:
    """Run the transaction that stores ``document`` as the next version of ``target``, like
    ``intake.blob_transaction``. After the commit, delete what it replaced, and try the copies of the new version.
    """
    version = target.content_version + 1
    with intake.blob_transaction(
        rt, document, is_stored=lambda: contents.has_revision(rt.db, target.id, version, document.sha256)
    ):
        yield
    removals.delete_now(rt, [target.blob])
    rt.pages.files.delete_derived(target.uuid, target.content_version)
    copy_checks.try_file(rt, target.uuid)


def count_anchors(rt: Runtime, caller: Caller, name: str) -> Anchors:
    """Count what a replacement of the caller's file ``name`` (UUID or short id) would delete. Raises ``not_found``."""
    file = files.get_owned(rt, caller, name)
    return Anchors(**{name: table.count_anchored(rt.db, file.id) for name, table in ANCHORED_TABLES.items()})


def _get_target(rt: Runtime, caller: Caller, name: str) -> ReplacementTarget:
    """Return the file to replace, after the checks in the order of the specification."""
    file_id = files.get_active_id(rt, caller, name)
    require_plan(caller.plan, "files.replace", "Replacing the document of a link")
    target = contents.find_target(rt.db, file_id)
    if target is None:  # it was deleted between the two reads
        raise files.file_not_found()
    rules.require_not_expired(target.delete_at, rt.clock())
    return target


def store_next_version(
    rt: Runtime, target: ReplacementTarget, document: StoredDocument, *, keep: bool
) -> ReplacementResult:
    """Store ``document`` as the next version of ``target``, inside its ``replacement_transaction``.

    Parameters: ``keep`` whether to keep anchors. Raises ``payload_too_large`` if the settings do not allow the size.
    """
    now = rt.clock()
    version = target.content_version + 1
    settings, variants_trim, burned_at, consumed = contents.get_carried_over(rt.db, target.id)
    rules.require_servable(settings, variants_trim, document.size)
    content = (document.name, document.size, document.total_pages, document.page_sizes, document.sha256, document.blob)
    consumed = rules.reset_views_consumed(burned_at, consumed)
    file_rows.replace_content(rt.db, target.id, content, version, consumed, now)
    removal_rows.add(rt.db, [target.blob], now)
    # Marks and annotations are kept or deleted together with hotspots and notes. An anchor on a page that the new
    # version does not have is hidden until a later version has that page.
    if keep:
        for name in ("marks", "annotations"):
            ANCHORED_TABLES[name].set_content_version(rt.db, target.id, version)
    cleared = [0 if keep else table.delete_anchored(rt.db, target.id) for table in ANCHORED_TABLES.values()]
    activity.record(rt, target.id, "content.replaced", {"contentVersion": version}, at=now)
    empty = is_empty(document.total_pages, read_settings(settings)["pageRange"])
    variants = sharing.count_empty_variants(rt.db, target.id, document.total_pages)
    return ReplacementResult(
        target.uuid,
        version,
        document.name,
        document.size,
        not keep,
        document.warning,
        *cleared,
        is_page_range_empty=empty,
        empty_variants=variants,
        left_out=document.left_out,
    )
