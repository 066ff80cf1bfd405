"""Background jobs: their intervals, and the threads that run them."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from docshare.server import faults
from docshare.server.logs import LOGGER
from docshare.server.runtime import Runtime
from docshare.server.services.accounts import keys
from docshare.server.services.events import activity_feed, listeners
from docshare.server.services.files import burn, removals, tokens
from docshare.server.services.links import denials, invites
from docshare.server.services.oauth import grants
from docshare.server.services.operations import encryption, mail, sweeps, worker_metrics
from docshare.server.services.readership import viewing
from docshare.server.services.webhooks import deliveries, dispatch
from docshare.server.store import reserve
from docshare.server.store.blobs import REMOVAL_JOB

_POLL_SECONDS = 1.0  # interval of checking which jobs are due


@dataclass(frozen=True)
class Job:
    """A periodic job.

    ``interval_s``: seconds between two runs; ``run`` does the work that is due and returns how many items it processed.
    ``is_local``: it works on data of this process, in memory or in its data directory, so every process runs it. Any
    other job runs in only one process of an instance at a time. ``is_held_back``: its clock is not ahead of that of a
    shared database, because it ends sessions or deletes rows of all processes.
    """

    name: str
    interval_s: float
    run: Callable[[Runtime], int]
    is_local: bool = False
    is_held_back: bool = True


# A stopping server also runs this job, because the counts since its last run are only in memory.
RECORD_DENIALS = Job("record denied views", 5, denials.flush_counts, is_local=True)
JOBS: tuple[Job, ...] = (
    Job("end reading sessions", 2, viewing.end_due_sessions),
    Job("purge the trash", 5, sweeps.purge_due),
    Job("delete expired listeners", 5, listeners.delete_expired),
    Job("purge burned files", 5, burn.destroy_due),
    Job(REMOVAL_JOB, 5, removals.delete_remembered),
    Job("purge expired unclaimed files", 5, sweeps.expire_unclaimed),
    RECORD_DENIALS,
    Job("store the last use of keys", 60, keys.save_uses, is_local=True),
    Job("delete cached pages of purged files", 60, sweeps.delete_derived_of_destroyed, is_local=True),
    Job("share metrics with other processes", 5, worker_metrics.share, is_local=True),
    Job("reserve disk space", 60, lambda rt: reserve.ensure_reserve(rt.config.data_dir), is_local=True),
    Job("delete orphaned blobs", 86_400, removals.delete_orphans),
    Job("free memory", 15, sweeps.free_memory, is_local=True),
    Job("encrypt stored documents", 5, encryption.encrypt_stored),
    Job("delete expired sign-ins", 3600, sweeps.delete_expired_sign_ins),
    Job("delete orphaned tokens", 3600, tokens.delete_orphaned),
    Job("delete uncounted sessions", 3600, viewing.delete_uncounted_sessions),
    Job("delete old beacons", 3600, viewing.delete_old_beacons),
    Job("delete old reader salts", 3600, viewing.delete_old_salts),
    Job("delete old mails", 3600, mail.delete_expired),
    Job("delete old deliveries", 3600, deliveries.delete_expired),
    Job("reschedule distant deliveries", 60, dispatch.reschedule_distant),
    Job("delete old events", 3600, activity_feed.delete_expired),
    Job("delete expired grants", 3600, grants.delete_expired),
)


def send_mails(rt: Runtime) -> int:
    """Send the mails that are due, invitations with the logo of their sender; return how many were accepted."""
    return mail.send_due(rt, invites.find_mail_logo)


# In a thread of their own, because a slow mail server must not delay other jobs.
MAIL_JOBS: tuple[Job, ...] = (Job("send mails", 5, send_mails, is_held_back=False),)


class Worker:
    """Runs ``jobs`` in a separate thread until ``stop``. A failed job is logged and runs again after its interval."""

    def __init__(self, rt: Runtime, jobs: Sequence[Job] = JOBS, name: str = "jobs") -> None:
        self._rt = rt
        self._jobs = jobs
        self._name = name
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)

    def start(self) -> None:
        """Start running jobs in a separate thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop starting jobs; the running one continues."""
        self._stop.set()

    def join(self, timeout: float) -> None:
        """Wait up to ``timeout`` seconds for the running job. Its remaining work is due again at the next start."""
        self._thread.join(timeout)

    def _loop(self) -> None:
        due = dict.fromkeys(self._jobs, 0.0)
        while not self._stop.is_set():
            self._rt.heartbeats[self._name] = self._rt.clock()
            for job in self._jobs:
                if time.monotonic() >= due[job] and not self._stop.is_set():
                    run_job(self._rt, job)
                    due[job] = time.monotonic() + job.interval_s
            self._stop.wait(_POLL_SECONDS)


def run_job(rt: Runtime, job: Job) -> None:
    """Run one job now; an error is logged, never raised."""
    try:
        if job.is_local:
            done = job.run(rt)
        else:
            with rt.db.try_lock(("job", job.name)) as has_lock:
                done = job.run(_hold_back_clock(rt) if job.is_held_back else rt) if has_lock else 0
    except Exception as error:  # noqa: BLE001 - a failed job must not stop the others
        faults.log_error(error, "job failed", job=job.name)
        return
    if done:
        LOGGER.info("job done", extra={"job": job.name, "count": done})


def _hold_back_clock(rt: Runtime) -> Runtime:
    """Return ``rt`` with a clock that is not ahead of that of a shared database: one machine with a wrong clock would
    end the visits of all readers after each of their reports."""
    lead = rt.measure_lead()
    return rt if lead <= 0 else replace(rt, clock=lambda: rt.clock() - lead)
