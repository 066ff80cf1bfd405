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
_MAX_VARIANTS = 200  # of one file: all that it can have
_MAX_COPIES = 20  # different copies that are tried after one change
_WAIT_SLOTS = threading.BoundedSemaphore(2)  # threads of the server that may wait for a trial at once


class _Trial(NamedTuple):
    """A copy to try: the one that readers of ``link``, which has the UUID ``uuid``, download."""

    uuid: str
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
    for uuid in uuids:
        link = links.resolve(rt, uuid)
        if link is None:
            continue
        wanted = downloads.find_reader_copy(rt, link)
        if wanted is not None and not rules.can_make_download(link.file.size, as_stored=False):
            downloads.store_warning(rt, link, "large")
        elif wanted is None or wanted.last < wanted.first:  # readers get the stored bytes, or no page
            downloads.store_warning(rt, link, None)
        else:
            trials.append(_Trial(uuid, link, wanted))
    if not trials:
        return
    done = threading.Event()
    rt.pages.offer_trial(name, _build_job(rt, name, trials, done))
    if _WAIT_SLOTS.acquire(blocking=False):
        try:
            done.wait(_MAX_TRIAL_S + 1)  # a trial that takes as long as it may has a result, too
        finally:
            _WAIT_SLOTS.release()


def _build_job(rt: Runtime, name: str, trials: list[_Trial], done: threading.Event) -> Callable[[], None]:
    found: dict[tuple[int, int, bool], str | None] = {}
    refusals = itertools.count(1)

    def run() -> None:
        while trials:
            trial = trials[0]
            alike = _liken(trial.derivation)
            if alike not in found and len(found) < _MAX_COPIES:
                try:
                    found[alike] = _find_failure(rt, trial.link, trial.derivation)
                except _BusyError:
                    if next(refusals) < _MAX_ATTEMPTS:
                        rt.pages.offer_trial(name, run, last=True)
                        return
                    found[alike] = "late"
            if alike in found:
                _store_result(rt, trial, found[alike])
            trials.pop(0)
        done.set()

    return run


def _store_result(rt: Runtime, trial: _Trial, failure: str | None) -> None:
    """Store the result of ``trial``, unless the copy has changed since: that change starts another trial. Other
    settings may have changed meanwhile."""
    link = links.resolve(rt, trial.uuid)
    if link is None or link.file.content_version != trial.link.file.content_version:
        return
    wanted = downloads.find_reader_copy(rt, link)
    if wanted is not None and _liken(wanted) == _liken(trial.derivation):
        downloads.store_warning(rt, link, failure)


def _liken(wanted: Derivation) -> tuple[int, int, bool]:
    """Return what decides whether a copy can be made. Watermarks differ only in their text."""
    return wanted.first, wanted.last, wanted.mark is None


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
