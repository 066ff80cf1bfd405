"""Actions on several files of the library: delete, end the links, export as CSV."""

from collections import Counter
from collections.abc import Callable, Mapping
from urllib.parse import parse_qsl, urlencode

from flask import Blueprint, request
from werkzeug.wrappers import Response as AnyResponse

from docshare.contract.amounts import format_plural
from docshare.contract.fields import is_uuid
from docshare.contract.problems import Problem
from docshare.contract.wire import format_instant
from docshare.report.words import format_date
from docshare.server.api import csv_answers
from docshare.server.http.views import current_runtime
from docshare.server.services.files import files, library, settings
from docshare.server.services.files.library import LibraryEntry
from docshare.server.web.owner.cards import build_card
from docshare.server.web.owner.frame import SignedInOwner, owner_form, redirect_with_message, render_owner_page

MAX_SELECTED = 200
_REASONS = {"not_found": "already gone", "gone": "already ended"}
_LIST_PARAMETERS = ("q", "state", "sort", "page")
_CSV_HEADER = (
    "name", "link", "state", "pages", "bytes", "views", "viewsThisWeek", "createdAt", "expiresAt", "lastReadAt", "uuid"
)  # fmt: skip

blueprint = Blueprint("owner_selection", __name__)


@blueprint.post("/files/selected")
@owner_form
def change(owner: SignedInOwner) -> AnyResponse:
    """Apply ``action`` to every ``file`` of the form: ``export``, ``trash``, or after a confirmation ``purge`` or
    ``expire``. A file that is gone does not stop the others. Raises ``bad_request``."""
    chosen = list(dict.fromkeys(request.form.getlist("file")))
    if not all(map(is_uuid, chosen)) or len(chosen) > MAX_SELECTED:
        raise Problem("bad_request", f"file must be the UUID of a file, at most {MAX_SELECTED} times.")
    if not chosen:
        return redirect_with_message(list_path(), "No file was selected.")
    action = request.form.get("action")
    until = library.trash_expiry(current_runtime(), owner.caller.plan)
    if action == "trash" and until is None:
        action = "purge"  # which must be confirmed
    if action == "export":
        return _export(owner, chosen)
    if action == "trash":
        moved: list[str] = []
        done = f"moved to the trash until {format_date(until or 0)}"
        words = apply(chosen, "file", done, lambda uuid: moved.append(_delete(owner, uuid, purge=False)))
        return redirect_with_message(list_path(), words, moved)
    if action not in ("purge", "expire"):
        raise Problem("bad_request", "action must be export, trash, purge, or expire.")
    if request.form.get("confirmed") != "on":
        entries = library.list_selected(current_runtime(), owner.caller, chosen)
        names = [(entry.row.uuid, entry.row.original_name) for entry in entries]
        back = list_path()
        return render_owner_page(owner, "selected.html", "files", action=action, names=names, back=back)
    if action == "purge":
        words = apply(chosen, "file", "permanently deleted", lambda uuid: _delete(owner, uuid, purge=True))
    else:
        words = apply(chosen, "link", "ended", lambda uuid: _expire(owner, uuid))
    return redirect_with_message(list_path(), words)


def list_path() -> str:
    """Return the path of the list from which the form came, with its search; other parameters are dropped."""
    given = dict(parse_qsl(request.form.get("list", "")))
    kept = {name: given[name] for name in _LIST_PARAMETERS if given.get(name)}
    return f"/files?{urlencode(kept)}" if kept else "/files"


def _delete(owner: SignedInOwner, uuid: str, *, purge: bool) -> str:
    """Delete a file, and return its short id."""
    row = files.get_owned(current_runtime(), owner.caller, uuid)  # deleting a file in the trash again would purge it
    files.delete(current_runtime(), owner.caller, uuid, purge=purge)
    return row.short_id


def _expire(owner: SignedInOwner, uuid: str) -> None:
    rt = current_runtime()
    settings.change_settings(rt, owner.caller, uuid, {"deleteAt": format_instant(rt.clock())})


def apply(
    chosen: list[str], noun: str, done: str, act: Callable[[str], object], reasons: Mapping[str, str] = _REASONS
) -> str:
    """Apply ``act`` to every chosen file, and return how many (a ``noun``) were ``done`` and what happened to the
    others; ``reasons`` by the code of the problem."""
    counts: Counter[str] = Counter()
    for uuid in chosen:
        try:
            act(uuid)
        except Problem as problem:
            counts[reasons.get(problem.code, problem.detail)] += 1
        else:
            counts[done] += 1
    parts = [f"{format_plural(counts.pop(done, 0), noun)} {done}"]
    parts += [f"{count} {'was' if count == 1 else 'were'} {why}" for why, count in counts.items()]
    return f"{', '.join(parts)}."


def _export(owner: SignedInOwner, chosen: list[str]) -> AnyResponse:
    entries = library.list_selected(current_runtime(), owner.caller, chosen)
    return csv_answers.csv_response("files.csv", _CSV_HEADER, [_build_row(entry) for entry in entries])


def _build_row(entry: LibraryEntry) -> tuple[str | int, ...]:
    row = entry.row
    card = build_card(current_runtime().config.base_url, entry, current_runtime().clock())
    return (
        row.original_name,
        card.link,
        "frozen" if entry.is_frozen else entry.state,
        row.total_pages,
        row.size,
        row.view_count,
        "" if entry.week is None else sum(count for _, count in entry.week),
        format_instant(row.created_at),
        "" if row.delete_at is None else format_instant(row.delete_at),
        "" if entry.last is None else format_instant(entry.last.started_at),
        row.uuid,
    )
