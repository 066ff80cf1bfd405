"""Report to the owner of a link that attempts to open it were denied: ``access.denied`` in the activity feed.

All denials of one file for one reason through one link in one minute are one event, which is written when the minute
has ended and never changes. A denied request itself writes nothing: it is counted in memory (``rt.denials``). A job
stores the counts every five seconds, and so does a server that stops. If the database cannot be written, the counts
wait for the next run; a server that is killed loses at most the counts of five seconds. If several instances count, a
minute becomes an event once each of them has had time to store its counts.

An attempt is a page requested by a person, or a gate form from any client: previewing a link does not send a form.
Programs that identify themselves, previews, prefetches and the owner's own attempts do not count.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from docshare.contract.fields import is_short_id, is_uuid
from docshare.contract.limits import DENIED_COALESCE_MS, MAX_DENIED_COUNT, SECOND
from docshare.contract.problems import Problem
from docshare.contract.webhooks import DENIED_KIND, DENIED_REASONS
from docshare.contract.wire import drop_none
from docshare.server.denial_counter import DenialKey
from docshare.server.rules.agents import parse_user_agent
from docshare.server.rules.gates import PASSWORD
from docshare.server.runtime import Runtime
from docshare.server.services.events import activity
from docshare.server.services.links import links
from docshare.server.services.operations.batches import run_in_batches
from docshare.server.store.database import CommitUnknownError
from docshare.server.store.tables import links as link_rows
from docshare.server.store.tables import webhooks
from docshare.server.store.tables.links import DeniedLink

_BATCH_ROWS = 200  # events written in one transaction
_OTHERS_STORE_MS = 15 * SECOND  # three runs of the job in another instance


@dataclass(frozen=True)
class LinkRequester:
    """Who was denied: ``user_agent`` as sent; ``account_id`` of the signed-in account or None; ``is_unseen``: no person
    sees the response (a prefetch, or a HEAD); ``submits_form``: the request sent a form."""

    user_agent: str
    account_id: int | None
    is_unseen: bool
    submits_form: bool


def count_denial(rt: Runtime, name: str, problem: Problem, requester: LinkRequester) -> None:
    """Count that opening the link ``name`` failed with ``problem``, if it is of a kind that is reported.

    An unknown name costs the same lookup as a revoked link, so that their timing does not differ.
    """
    if requester.is_unseen or (not requester.submits_form and parse_user_agent(requester.user_agent).program):
        return
    if problem.code == "not_found":
        reason, found = "revoked", _recall_revoked(rt, name)
    else:
        reason = _classify_problem(problem)
        found = _find_active(rt, name) if reason in DENIED_REASONS else None
    if found is not None and found.owner_id != requester.account_id:
        rt.denials.add(found.file_id, reason, found.variant_id, rt.clock)


def flush_counts(rt: Runtime) -> int:
    """Store the counts since the last call, and turn the minutes that have ended into events; return how many events
    were written."""
    counts, minute = rt.denials.take_counts(rt.clock)
    try:
        _store_counts(rt, counts)
    except CommitUnknownError:  # probably stored: again, they could count twice
        raise
    except Exception:
        rt.denials.put_back(counts)
        raise
    if rt.db.is_shared:
        minute = min(minute, (rt.clock() - _OTHERS_STORE_MS) // DENIED_COALESCE_MS)
    if not webhooks.list_denials(rt.db, minute, 1):
        return 0  # the usual case: it needs no transaction
    return run_in_batches(rt, _BATCH_ROWS, lambda: _record_batch(rt, minute))


def _store_counts(rt: Runtime, counts: Mapping[DenialKey, int]) -> None:
    if not counts:
        return
    with rt.db.write():
        for key, count in counts.items():
            webhooks.add_denials(
                rt.db,
                key.file_id,
                key.reason,
                key.variant_id,
                minute=key.minute,
                count=count,
                max_count=MAX_DENIED_COUNT,
            )


def _record_batch(rt: Runtime, minute: int) -> int:
    """Turn one batch of denials before ``minute`` into events, in the caller's transaction; return how many."""
    due = webhooks.list_denials(rt.db, minute, _BATCH_ROWS)
    for denial in due:
        webhooks.delete_denial(rt.db, denial)
        extras = drop_none({"reason": denial.reason, "count": denial.denied, "variantUuid": denial.variant_uuid})
        ended_at = (denial.minute + 1) * DENIED_COALESCE_MS
        variant_id = denial.variant_id if denial.variant_uuid else None  # the variant may be deleted by now
        activity.record(rt, denial.file_id, DENIED_KIND, extras, at=ended_at, variant_id=variant_id)
    return len(due)


def _classify_problem(problem: Problem) -> str:
    """Return the reason in ``DENIED_REASONS`` for ``problem``, or another text if it is not a denied attempt."""
    extra = problem.extra
    if problem.code == "gone":
        return str(extra.get("reason"))  # of a link that is gone: expired or burned
    if problem.code == "forbidden":
        if extra.get("at") == PASSWORD:
            return "password"
        if "errors" in extra:
            return "domain"
    return ""


def _recall_revoked(rt: Runtime, name: str) -> DeniedLink | None:
    if is_uuid(name):
        return link_rows.recall_revoked(rt.db, "uuid", name.lower())
    if is_short_id(name):
        return link_rows.recall_revoked(rt.db, "short_id", name)
    return None


def _find_active(rt: Runtime, name: str) -> DeniedLink | None:
    link = links.resolve(rt, name)
    if link is None:
        return None
    return DeniedLink(link.file.id, link.variant.id if link.variant else 0, link.file.owner_id)
