"""Problem codes of the specification (section Errors) and the one exception class of the whole program."""

from collections.abc import Mapping
from typing import Any, NamedTuple

MEDIA_TYPE = "application/problem+json"


class ProblemRow(NamedTuple):
    """One row of the table of codes: HTTP ``status``, short ``title`` and the default ``hint`` for people."""

    status: int
    title: str
    hint: str


PROBLEMS: dict[str, ProblemRow] = {
    "bad_request": ProblemRow(400, "Bad request", "Correct the request as the detail says and send it again."),
    "unauthorized": ProblemRow(401, "Unauthorized", "Use a valid API key or access token as the bearer credential."),
    "plan_required": ProblemRow(403, "Plan required", "Upgrade the account, or leave out what the plan lacks."),
    "insufficient_scope": ProblemRow(403, "Insufficient scope", "Use a credential that was granted the named scope."),
    "forbidden": ProblemRow(403, "Forbidden", "Use the account that owns this, or free a file slot."),
    "not_found": ProblemRow(404, "Not found", "Check the id; files of other accounts are not shown."),
    "method_not_allowed": ProblemRow(405, "Method not allowed", "The Allow header names the methods of this address."),
    "conflict": ProblemRow(409, "Conflict", "Read the current state and try again."),
    "gone": ProblemRow(410, "Gone", "The link is dead; replace the content or share the document again."),
    "payload_too_large": ProblemRow(413, "Payload too large", "Send less; GET /api/v1/user shows the plan's limits."),
    "unsupported_media_type": ProblemRow(
        415, "Unsupported media type", "Send the content type that the route asks for."
    ),
    "unprocessable": ProblemRow(422, "Unprocessable", "Open the file in a PDF reader and save it again, then retry."),
    "rate_limited": ProblemRow(429, "Rate limited", "Wait as long as the Retry-After header says."),
    "headers_too_large": ProblemRow(431, "Request headers too large", "Send fewer or shorter headers."),
    "internal": ProblemRow(500, "Internal error", "Try again; if it stays, give the operator the X-Request-Id."),
    "not_implemented": ProblemRow(501, "Not implemented", "This form of the request is not supported."),
    "bad_gateway": ProblemRow(502, "Bad gateway", "Check that the source address works and try again."),
    "unavailable": ProblemRow(503, "Unavailable", "Try again later."),
}


class Problem(Exception):
    """A refusal, raised anywhere and drawn once per shell.

    Parameters: ``code`` a key of ``PROBLEMS``; ``detail`` what is wrong here, in one sentence; ``hint`` what to do
    about it (default: the row's); ``headers`` extra response headers; ``extra`` extra members of the problem document;
    ``status`` only where a client heard a status that differs from the row's.
    """

    def __init__(
        self,
        code: str,
        detail: str = "",
        *,
        hint: str | None = None,
        headers: Mapping[str, str] | None = None,
        extra: Mapping[str, Any] | None = None,
        status: int | None = None,
    ) -> None:
        row = PROBLEMS.get(code, PROBLEMS["internal"])
        self.code = code
        self.status = status if status is not None else row.status
        self.title = row.title
        self.detail = detail or row.title
        self.hint = row.hint if hint is None else hint
        self.headers = dict(headers or {})
        self.extra = dict(extra or {})
        super().__init__(self.detail)
