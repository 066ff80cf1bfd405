"""Refused attempts to open a link, told to its owner: ``access.denied`` in the activity feed.

All refusals of one file for one reason through one link in one minute are one event, which is written when the minute
is over and never changes. A refused request itself writes nothing, see ``refusals``; a job writes down every five
seconds what was counted, and a stop does so once more. A server that is killed loses at most the last five seconds.

An attempt is a page that a person asks for, or the form of its gate sent by whomever: one does not send a
form by looking at a link. Programs that say what they are, previews, prefetches and the owner's own tries do not count.
"""

from typing import NamedTuple

from docshare.contract.fields import is_short_id, is_uuid
from docshare.contract.limits import DENIED_COALESCE_MS, MAX_DENIED_COUNT
from docshare.contract.problems import Problem
from docshare.contract.webhooks import DENIED_KIND, DENIED_REASONS
from docshare.contract.wire import drop_none
from docshare.server.rules.agents import parse_user_agent
from docshare.server.rules.gates import PASSWORD
from docshare.server.runtime import Runtime
from docshare.server.services.events import activity
from docshare.server.services.links import links
from docshare.server.services.operations.batches import run_in_batches

_BATCH_ROWS = 200  # events written in one transaction

_SELECT_REVOKED = {
    column: "SELECT f.id, v.id, f.owner_id FROM variants v JOIN files f ON f.id = v.file_id "  # noqa: S608 - two columns
    f"WHERE v.{column} = ? AND v.revoked_at IS NOT NULL AND f.trashed_at IS NULL"
    for column in ("uuid", "short_id")
}
# A file without an owner has nobody to tell, and one that went meanwhile has nothing to tell of.
_ADD_COUNT = (
    "INSERT INTO denials (file_id, reason, variant_id, minute, count) "
    "SELECT id, ?, ?, ?, ? FROM files WHERE id = ? AND owner_id IS NOT NULL "
    "ON CONFLICT DO UPDATE SET count = MIN(count + excluded.count, ?)"
)
_SELECT_FINISHED = (
    "SELECT d.file_id, d.reason, d.variant_id, d.minute, d.count, v.uuid FROM denials d "
    "LEFT JOIN variants v ON v.id = d.variant_id WHERE d.minute < ? ORDER BY d.minute LIMIT ?"
)
_DELETE_RECORDED = "DELETE FROM denials WHERE file_id = ? AND reason = ? AND variant_id = ? AND minute = ?"


class LinkRequester(NamedTuple):
    """Who asked for a link in vain: ``user_agent`` as sent; ``account_id`` of the signed-in account or None;
    ``unread``: nobody would have seen the answer (a prefetch, or a HEAD); ``acts``: a form was sent."""

    user_agent: str
    account_id: int | None
    unread: bool
    acts: bool


class _DeniedLink(NamedTuple):
    file_id: int
    variant_id: int
    owner_id: int | None


def count_denial(rt: Runtime, name: str, problem: Problem, asker: LinkRequester) -> None:
    """Count that opening the link ``name`` was refused with ``problem``, if that is of the kind that is told.

    Whether the name is a revoked link's or nobody's, the same is done for it.
    """
    if asker.unread or (not asker.acts and parse_user_agent(asker.user_agent).program):
        return
    if problem.code == "not_found":
        reason, found = "revoked", _find_revoked(rt, name)
    else:
        reason = _classify_problem(problem)
        found = _find_active(rt, name) if reason in DENIED_REASONS else None
    if found is not None and found.owner_id != asker.account_id:
        rt.refusals.add(found.file_id, reason, found.variant_id, rt.clock)


def flush_counts(rt: Runtime) -> int:
    """Keep what was counted since the last time, and turn the minutes that are over into events; returns how many
    events that made."""
    counts, minute = rt.refusals.take(rt.clock)
    if counts:
        with rt.db.write():
            for key, count in counts.items():
                row = (key.reason, key.variant_id, key.minute, count, key.file_id)
                rt.db.execute(_ADD_COUNT, (*row, MAX_DENIED_COUNT))
    if rt.db.row(_SELECT_FINISHED, (minute, 1)) is None:
        return 0  # nearly always: no transaction for it
    return run_in_batches(rt, _BATCH_ROWS, lambda: _record_batch(rt, minute))


def _record_batch(rt: Runtime, minute: int) -> int:
    """Tell some of what happened before ``minute``, in the caller's transaction; returns how many events that made."""
    due = rt.db.rows(_SELECT_FINISHED, (minute, _BATCH_ROWS))
    for file_id, reason, variant_id, of_minute, count, variant in due:
        rt.db.execute(_DELETE_RECORDED, (file_id, reason, variant_id, of_minute))
        extras = drop_none({"reason": reason, "count": count, "variantUuid": variant})
        ended_at = (of_minute + 1) * DENIED_COALESCE_MS
        through = variant_id if variant else None  # its link may be deleted by now
        activity.record(rt, file_id, DENIED_KIND, extras, at=ended_at, variant_id=through)
    return len(due)


def _classify_problem(problem: Problem) -> str:
    """The word of ``DENIED_REASONS`` for ``problem``; another one for what is no refused attempt."""
    extra = problem.extra
    if problem.code == "gone":
        return str(extra.get("reason"))  # of a link that has ended: expired or burned
    if problem.code == "forbidden":
        if extra.get("at") == PASSWORD:
            return "password"
        if "errors" in extra:
            return "domain"
    return ""


def _find_revoked(rt: Runtime, name: str) -> _DeniedLink | None:
    if is_uuid(name):
        found = rt.db.recall(_SELECT_REVOKED["uuid"], (name.lower(),))
    elif is_short_id(name):
        found = rt.db.recall(_SELECT_REVOKED["short_id"], (name,))
    else:
        found = None
    return _DeniedLink._make(found) if found else None


def _find_active(rt: Runtime, name: str) -> _DeniedLink | None:
    link = links.resolve(rt, name)
    if link is None:
        return None
    return _DeniedLink(link.file.id, link.variant.id if link.variant else 0, link.file.owner_id)
