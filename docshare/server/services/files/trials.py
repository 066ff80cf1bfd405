"""Trying the copies that readers would download, as soon as something decides what they are.

Otherwise readers would be the first to learn that one cannot be made. A trial uses a worker that nobody else needs, in
the background; whoever changed something waits for it for a moment, so that the owner reads the result at once.
"""

import itertools
import threading
from collections.abc import Callable, Iterable
from typing import NamedTuple

from docshare.contract.problems import Problem
from docshare.server.pdf.engine import Derivation, UnrenderableError
from docshare.server.rules import downloads as rules
from docshare.server.runtime import Runtime
from docshare.server.services.files import tenants
from docshare.server.services.links import downloads, links
from docshare.server.services.links.links import Link

_MAX_TRIAL_S = 5.0
_MAX_ATTEMPTS = 10  # of one job that found no worker after all
_MAX_VARIANTS = 20  # variants of one file, tried because of one change
_WAIT_SLOTS = threading.BoundedSemaphore(2)  # threads of the server that may wait for a trial at once
_VARIANTS = (
    "SELECT uuid FROM variants WHERE file_id = (SELECT id FROM files WHERE uuid = ?) AND revoked_at IS NULL "
    "AND overrides <> '{}' ORDER BY id DESC LIMIT ?"
)


class _Trial(NamedTuple):
    """A copy to try: what readers of ``link`` get."""

    link: Link
    wanted: Derivation


def try_file(rt: Runtime, uuid: str) -> None:
    """Try what readers of the file ``uuid`` download, by its own link and by variants that set something else."""
    variants = (row[0] for row in rt.db.rows(_VARIANTS, (uuid, _MAX_VARIANTS)))
    _start_trials(rt, uuid, [uuid, *variants])


def try_variant(rt: Runtime, uuid: str) -> None:
    """As ``file``, for one variant."""
    _start_trials(rt, uuid, [uuid])


def _start_trials(rt: Runtime, name: str, uuids: Iterable[str]) -> None:
    """Settle at once what needs no trial, try the rest in the background, and wait for that a little."""
    trials = []
    for link in filter(None, (links.resolve(rt, uuid) for uuid in uuids)):
        if not downloads.can_make_copy(rt, link):
            downloads.store_warning(rt, link, "large")
            continue
        wanted = downloads.find_reader_copy(rt, link)
        if wanted is None:
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
            alike = (wanted.first, wanted.last, wanted.mark is None)  # marks differ in their text alone
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
    """There is no worker to spare now."""


def _find_failure(rt: Runtime, link: Link, wanted: Derivation) -> str | None:
    """Why the copy cannot be made, None if it can. Raises _BusyError."""
    whole = link.file
    try:
        blob = rt.blobs.path(whole.blob)
        tenant = tenants.owner_tenant(whole)
        if not rt.pages.try_document(whole.uuid, whole.content_version, blob, wanted, tenant, _MAX_TRIAL_S):
            raise _BusyError
    except UnrenderableError as error:
        return rules.classify_failure(error.reason, lasting=error.lasting)
    except Problem as problem:
        raise _BusyError from problem
    return None
