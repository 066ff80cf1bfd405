"""Try the copies that readers would download, as soon as a change affects them.

Otherwise readers would be the first to see that a copy cannot be made. A trial runs in the background on an idle
worker; the request that made the change waits for it for a moment, so that the owner sees the result at once.
"""

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from docshare.contract.problems import Problem
from docshare.server import faults
from docshare.server.pdf.engine import Derivation, UnrenderableError
from docshare.server.rules import downloads as rules
from docshare.server.runtime import Runtime
from docshare.server.services.files import sealed_blobs, tenants
from docshare.server.services.links import downloads, links
from docshare.server.services.links.links import Link
from docshare.server.store.blobs import StorageUnreachableError
from docshare.server.store.tables import sharing

_MAX_TRIAL_S = 5.0
_MAX_ATTEMPTS = 10  # of one job that did not get a worker
_MAX_VARIANTS = 20  # variants of one file that are tried after one change
_WAIT_SLOTS = threading.BoundedSemaphore(2)  # threads of the server that may wait for a trial at once


class _Trial(NamedTuple):
    """A copy to try: the one that readers of ``link`` download."""

    link: Link
    derivation: Derivation


def try_file(rt: Runtime, uuid: str) -> None:
    """Try what readers of the file ``uuid`` download, by its own link and by variants that override a setting. Raises
    nothing for a fault of the host."""
    with _after_commit():
        _start_trials(rt, uuid, [uuid, *sharing.list_changed_variants(rt.db, uuid, _MAX_VARIANTS)])


def try_variant(rt: Runtime, uuid: str) -> None:
    """Try what readers of the variant ``uuid`` download. A fault of the host is logged, not raised."""
    with _after_commit():
        _start_trials(rt, uuid, [uuid])


@contextmanager
def _after_commit() -> Iterator[None]:
    """Log a fault of the host: with a 503 the client would repeat the change, which is stored already."""
    try:
        yield
    except Exception as error:
        if faults.find_fault(error) is None:
            raise
        faults.log_error(error, "the copies for readers could not be tried")


def _start_trials(rt: Runtime, name: str, uuids: Iterable[str]) -> None:
    """Store at once the results that do not need a trial; run the other trials in the background and wait briefly."""
    trials = []
    for link in filter(None, (links.resolve(rt, uuid) for uuid in uuids)):
        wanted = downloads.find_reader_copy(rt, link)
        if wanted is not None and not rules.can_make_download(link.file.size, as_stored=False):
            downloads.store_warning(rt, link, "large")
        elif wanted is None or wanted.last < wanted.first:  # readers get the stored bytes, or no page
            downloads.store_warning(rt, link, None)
        else:
            trials.append(_Trial(link, wanted))
    if not trials:
        return
    done = threading.Event()
    rt.pages.offer_trial(name, _build_job(rt, name, trials, done))
    if _WAIT_SLOTS.acquire(blocking=False):
        try:
            done.wait(_MAX_TRIAL_S)
        finally:
            _WAIT_SLOTS.release()


def _build_job(rt: Runtime, name: str, trials: list[_Trial], done: threading.Event) -> Callable[[], None]:
    found: dict[tuple[int, int, bool], str | None] = {}
    refusals = itertools.count(1)

    def run() -> None:
        while trials:
            link, wanted = trials[0]
            alike = (wanted.first, wanted.last, wanted.mark is None)  # watermarks differ only in their text
            if alike not in found:
                try:
                    found[alike] = _find_failure(rt, link, wanted)
                except _BusyError:
                    if next(refusals) < _MAX_ATTEMPTS:
                        rt.pages.offer_trial(name, run, last=True)
                        return
                    found[alike] = "late"
            downloads.store_warning(rt, link, found[alike])
            trials.pop(0)
        done.set()

    return run


class _BusyError(Exception):
    """All workers are busy."""


def _find_failure(rt: Runtime, link: Link, wanted: Derivation) -> str | None:
    """Return why the copy cannot be made, or None if it can. Raises _BusyError."""
    whole = link.file
    try:
        blob = sealed_blobs.open_blob(rt, whole.blob)
        tenant = tenants.owner_tenant(whole)
        if not rt.pages.try_document(whole.uuid, whole.content_version, blob, wanted, tenant, _MAX_TRIAL_S):
            raise _BusyError
    except UnrenderableError as error:
        return rules.classify_failure(error.reason, is_permanent=error.is_permanent)
    except (Problem, StorageUnreachableError) as error:
        raise _BusyError from error
    return None
