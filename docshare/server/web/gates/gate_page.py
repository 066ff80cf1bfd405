"""The gate page of a link: one form for all conditions that a reader has not met.

Showing it consumes no view and stores nothing, so that previews, scanners and prefetching browsers have no effect.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from flask import Response, make_response, render_template, request

from docshare.contract.problems import Problem
from docshare.server.http.views import current_runtime
from docshare.server.services.links import entry, sender
from docshare.server.services.links.entry import EntryState
from docshare.server.services.links.links import Link
from docshare.server.web.gates import viewer_cookie

FIELD_PREFIX = "field-"  # prefix of the field keys in the form: a field may be called ``password``
NEUTRAL_TITLE = "Shared document"
COOKIES_BLOCKED = "Your browser blocks cookies inside this page, so the document cannot open here."

_PAGE_NUMBER = re.compile(r"[1-9][0-9]{0,5}", re.ASCII)


@dataclass(frozen=True)
class RejectedForm:
    """A rejected form: its ``values`` by key, and the ``problem``."""

    problem: Problem
    values: Mapping[str, str] = field(default_factory=dict)


def render_gate(
    link: Link, state: EntryState, name: str, *, embed: bool, attempt: RejectedForm | None = None
) -> Response:
    """Render the gate of ``link``, which its reader opened as ``name``, for the missing conditions of ``state``."""
    problem = attempt.problem if attempt else None
    errors: dict[str, str] = dict(problem.extra.get("errors", {})) if problem else {}
    values = attempt.values if attempt else {}
    body = render_template(
        "gate.html",
        name=None if entry.is_name_hidden(link) else link.file.original_name,
        title=NEUTRAL_TITLE,
        sender=sender.find_sender(current_runtime(), link),
        owed=state.missing,
        form=state.requirements.form,
        custom=state.requirements.has_custom_form,
        values=_known_values(link, state) | {key: value for key, value in values.items() if value},
        errors=errors,
        problem=problem,
        action=f"{'/embed' if embed else ''}/{name}/enter{preserve_query()}",
        base=f"/{link.public_id}",
        alone=f"/{link.public_id}{preserve_query()}",
        address=f"{current_runtime().config.base_url}/{link.public_id}{preserve_query()}",
        prefix=FIELD_PREFIX,
        ticket=entry.issue_ticket(current_runtime()),
        embed=embed,
        blocked=COOKIES_BLOCKED,
        trial=viewer_cookie.render_script_cookie() if embed and not viewer_cookie.is_accepted() else None,
    )
    response = make_response(body, problem.status if problem else 200)
    response.headers.update(problem.headers if problem else {})
    viewer_cookie.set_trial_cookie(response)
    viewer_cookie.set_gate_secret(response, link)
    return response


def preserve_query() -> str:
    """Return the part of the query that must survive the gate: the page to open, and the mark of a QR code."""
    kept = []
    if _PAGE_NUMBER.fullmatch(request.args.get("page", "")):
        kept.append(f"page={request.args['page']}")
    if request.args.get("via") == "qr":
        kept.append("via=qr")
    return "?" + "&".join(kept) if kept else ""


def _known_values(link: Link, state: EntryState) -> dict[str, str]:
    """Return an invitee's address, which they need not type again."""
    if link.invite is None:
        return {}
    return {row.key: link.invite.email for row in state.requirements.form if row.type == "email"}
