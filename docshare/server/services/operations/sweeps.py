"""Run periodic work, and clean up after a crash. Every function can run again at any moment."""

import os
from pathlib import Path

from docshare.contract.limits import UNCLAIMED_RETENTION_MS
from docshare.contract.plans import DAY
from docshare.server.backup.placing import COPY_PREFIXES
from docshare.server.idle_memory import return_free_pages
from docshare.server.office.memory import find_memory_directory
from docshare.server.runtime import Runtime, memory_prefix
from docshare.server.services.files import burn, purge, removals, tokens
from docshare.server.services.operations import encryption
from docshare.server.services.webhooks import dispatch
from docshare.server.store.blobs import SweepResult
from docshare.server.store.tables import contents, sign_in
from docshare.server.store.tables import files as file_rows
from docshare.server.store.trees import is_old, remove_tree

_PROBED_ROUTES = ("/healthz", "/metrics")  # requested every few seconds; their responses contain nothing of a document


def clean_at_start(rt: Runtime) -> SweepResult:
    """Clean up before the server answers: delete partial uploads, and bytes and derived pages without a row; finish
    deletions that a crash interrupted, and release the deliveries that it left claimed."""
    swept = rt.blobs.sweep(contents.stream_blobs(rt.db))
    for path in (rt.config.data_dir / "tmp").iterdir():  # of conversions and workers, where partial files are elsewhere
        remove_tree(path)
    for path in _list_abandoned_copies(rt):
        remove_tree(path)
    memory = find_memory_directory(os.environ)
    for path in () if memory is None else memory.glob(f"{memory_prefix(rt.config.data_dir)}*"):
        remove_tree(path)
    if not rt.db.is_shared:  # an instance of an earlier version may read them meanwhile
        encryption.seal_plain_secrets(rt)
    dispatch.release_claims(rt)
    purge_due(rt)
    rt.pages.files.delete_stale(dict(contents.stream_versions(rt.db)))
    if rt.config.encryption:
        rt.pages.files.delete_clear()
    for file_id in file_rows.list_trashed_ids(rt.db):
        purge.hide_rows(rt, file_id)
    return swept


def _list_abandoned_copies(rt: Runtime) -> list[Path]:
    """Return the directories with a copy of the database that commands left behind when they were killed. A younger one
    may be in use."""
    found = [path for name in COPY_PREFIXES for path in rt.config.data_dir.glob(f"{name}*")]
    return [path for path in found if is_old(path, rt.clock() - DAY)]


def purge_due(rt: Runtime) -> int:
    """Purge the files whose ``purgeAt`` has passed; return how many."""
    return purge.purge(rt, *file_rows.list_due_ids(rt.db, rt.clock()))


def expire_unclaimed(rt: Runtime) -> int:
    """Purge the files that expired a week ago and that nobody has claimed; return how many.

    An owner keeps an expired file for its readership; nobody could see that of a file without an owner. During the week
    its link reports that it expired, and the file can be claimed.
    """
    now = rt.clock()
    with rt.db.write():
        # Marked first, so that a claim precedes or follows the whole deletion, and a crash leaves no file half deleted.
        file_rows.mark_unclaimed_for_purge(rt.db, now - UNCLAIMED_RETENTION_MS, now)
    return purge.purge(rt, *file_rows.list_unclaimed_due_ids(rt.db, now))


def delete_expired_sign_ins(rt: Runtime) -> int:
    """Delete expired sign-in links and sessions; return how many."""
    now = rt.clock()
    with rt.db.write():
        return sign_in.delete_expired(rt.db, now)


def delete_derived_of_destroyed(rt: Runtime) -> int:
    """Delete what this process derived from files that are purged, its copies of files that another instance purged,
    and what the disk refused to delete before; return how many.

    Files of this process may be among them: a request that found the file before can render a page after the purge, as
    long as a backup keeps the bytes or the store refuses to delete them.
    """
    rt.pages.files.retry_deletions()
    derived = rt.pages.files.list_documents()
    gone = set(derived) - contents.list_existing(rt.db, derived) if derived else set()
    for file_uuid in gone:
        rt.pages.files.delete_derived(file_uuid)
    if rt.config.encryption:
        rt.pages.files.delete_clear()  # derived from documents that any process has encrypted meanwhile
    return len(gone) + removals.delete_foreign_copies(rt)


def run_all(rt: Runtime) -> dict[str, int]:
    """Run everything that is due now; return how many files were ``burned``, ``purged`` from the trash and ``expired``
    unclaimed, and how many sign-ins and tokens were ``removed``."""
    return {
        "burned": burn.destroy_due(rt),
        "purged": purge_due(rt),
        "expired": expire_unclaimed(rt),
        "removed": delete_expired_sign_ins(rt) + tokens.delete_orphaned(rt),
    }


def free_memory(rt: Runtime) -> int:
    """Free the memory that has data of earlier requests, once after each busy period; what is freed is erased. Return
    free pages to the system.

    Return 0, so that the job logs nothing.
    """
    rows = rt.requests.snapshot().items()
    count = sum(sum(row[:-1]) for (_, route, _), row in rows if route not in _PROBED_ROUTES)
    if rt.idle_memory.is_due(int(count)):
        rt.db.release_memory()
        rt.engine.pool.end_idle()
        rt.idle_memory.free()
    return_free_pages()
    return 0
