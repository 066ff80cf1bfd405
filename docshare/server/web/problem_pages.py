"""Problems as pages, for URLs that people navigate to."""

from datetime import UTC, datetime

from flask import Response, make_response, render_template, request

from docshare.contract.problems import Problem
from docshare.server.http.views import current_runtime
from docshare.server.services.links import sender
from docshare.server.services.links.links import Link

GATE_REASON = "asks"
_OWNER_PATHS = ("/files/", "/webhooks/")


def render_problem_page(problem: Problem, status: int | None = None, *, link: Link | None = None) -> Response:
    """Render a page for ``problem``, with its own status or ``status``; if it has a reason, it shows the sender
    of ``link``.

    Its ``extra`` may contain ``reason`` (such as ``burned``) and ``ended`` (ms).
    """
    ended = problem.extra.get("ended")
    reason = problem.extra.get("reason", problem.code)
    is_for_owner = reason == "not_found" and request.path.startswith(_OWNER_PATHS)
    body = render_template(
        "trouble.html",
        reason="not_owned" if is_for_owner else reason,
        problem=problem,
        sender=None if link is None or "reason" not in problem.extra else sender.find_sender(current_runtime(), link),
        base="" if link is None else f"/{link.public_id}",
        ended=None if ended is None else _format_time(ended),
    )
    response = make_response(body, status or problem.status)
    response.headers.update(problem.headers)
    return response


def gate_problem() -> Problem:
    """Return the problem for a document whose conditions are not met: no part of it is served."""
    return Problem("forbidden", "You have not met the requirements of this document.", extra={"reason": GATE_REASON})


def _format_time(millis: int) -> dict[str, str]:
    moment = datetime.fromtimestamp(millis / 1000, UTC)
    return {"machine": moment.isoformat(), "human": f"{moment.day} {moment:%B %Y} at {moment:%H:%M} UTC"}
