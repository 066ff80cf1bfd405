"""The problem codes of the API, and the exception class that the whole program uses for them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

MEDIA_TYPE = "application/problem+json"


class ProblemRow(NamedTuple):
    """One row of the table of codes: HTTP ``status``, short ``title``, and the default ``hint``."""

    status: int
    title: str
    hint: str


PROBLEMS: dict[str, ProblemRow] = {
    "bad_request": ProblemRow(400, "Bad request", "Correct the request as described, and send it again."),
    "unauthorized": ProblemRow(401, "Unauthorized", "Use a valid API key or access token as the bearer credential."),
    "plan_required": ProblemRow(403, "Plan required", "Upgrade the account, or remove what the plan does not include."),
    "insufficient_scope": ProblemRow(403, "Insufficient scope", "Use a credential that has this scope."),
    "forbidden": ProblemRow(403, "Forbidden", "Use the account that owns the file, or free a file slot."),
    "not_found": ProblemRow(404, "Not found", "Check the id. Files of other accounts are not shown."),
    "method_not_allowed": ProblemRow(405, "Method not allowed", "The Allow header lists the methods of this URL."),
    "conflict": ProblemRow(409, "Conflict", "Read the current state and try again."),
    "gone": ProblemRow(410, "Gone", "The link has ended. Replace the content, or share the document again."),
    "payload_too_large": ProblemRow(413, "Payload too large", "Send less data. GET /api/v1/user shows the limits."),
    "unsupported_media_type": ProblemRow(
        415, "Unsupported media type", "Send the content type that the route requires."
    ),
    "unprocessable": ProblemRow(422, "Unprocessable", "Open the file in a PDF reader, save it again, and retry."),
    "rate_limited": ProblemRow(429, "Rate limited", "Retry after the number of seconds in the Retry-After header."),
    "headers_too_large": ProblemRow(431, "Request headers too large", "Send fewer or shorter headers."),
    "internal": ProblemRow(500, "Internal error", "Try again, or send the X-Request-Id to the operator."),
    "not_implemented": ProblemRow(501, "Not implemented", "This variant of the request is not supported."),
    "bad_gateway": ProblemRow(502, "Bad gateway", "Check that the source URL works, and try again."),
    "unavailable": ProblemRow(503, "Unavailable", "Try again later."),
}


class DocshareError(Exception):
    """The base class of all errors of the client.

    ``detail``: what failed and why; ``code``: stable, to branch on; ``hint``: what to do, may be empty; ``status``: the
    HTTP status, None without a response; ``request_id``: what the operator of the server can look up, None without one.

    Example::

        try:
            client.files.show(link)
        except docshare.DocshareError as error:
            print(error.code, error.hint, error.request_id)
    """

    code: str = "error"
    status: int | None = None
    detail: str = ""
    hint: str = ""
    request_id: str | None = None

    def __repr__(self) -> str:
        status = [] if self.status is None else [str(self.status)]
        request = [] if self.request_id is None else [f"request_id={self.request_id!r}"]
        return f"{type(self).__name__}({', '.join([*status, self.code, repr(self.detail), *request])})"


class Problem(DocshareError):
    """An error of the API, raised anywhere and rendered once in each interface.

    Parameters: ``code`` a key of ``PROBLEMS``; ``detail`` what failed and why, in one sentence; ``hint`` what to do
    (default: that of the code); ``headers`` additional response headers; ``extra`` additional members of the problem
    document; ``status`` the HTTP status that a client received, if it differs from that of the code; ``field`` the name
    of the field of the request that was rejected (``gateFields[0].key``), empty for other reasons and in clients.

    Example::

        try:
            client.files.show(link)
        except docshare.Problem as error:
            print(error.status, error.code, error.hint)
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
        field: str = "",
    ) -> None:
        row = PROBLEMS.get(code, PROBLEMS["internal"])
        self.code = code
        self.status: int = status if status is not None else row.status
        self.title = row.title
        self.detail = detail or row.title
        self.hint = row.hint if hint is None else hint
        self.headers = dict(headers or {})
        self.extra = dict(extra or {})
        self.field = field
        self.request_id = next((value for key, value in self.headers.items() if key.lower() == "x-request-id"), None)
        super().__init__(self.detail)
