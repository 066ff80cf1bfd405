"""Error responses of a server as ``Refused``."""

import json
from collections.abc import Mapping
from typing import Any

from docshare.client.errors import RateLimited, Refused
from docshare.client.http.rate_limits import RateBudget, read_budget, read_retry_after
from docshare.contract.problems import PROBLEMS

_MAX_TEXT_CHARS = 300  # characters of a plain-text response that become the detail
_PROBLEM_MEMBERS = {"type", "title", "status", "code", "detail", "hint"}


def parse_refusal(
    status: int, headers: Mapping[str, str], body: bytes, *, method: str, path: str, wall: float
) -> Refused:
    """Return the error of a response with ``status`` 400 or more; ``wall`` is the current time in seconds since 1970.

    Callers branch on status and code, so a response without a code (from a proxy, or plain text) gets that of its
    status.
    """
    document = _parse_document(body)
    code, detail, hint = (_read_text(document, member) for member in ("code", "detail", "hint"))
    kind = RateLimited if status == 429 else Refused
    return kind(
        code or _code_for_status(status),
        detail or _read_plain_text(headers, body) or f"The server answered {status} without a reason.",
        status=status,
        method=method,
        path=path,
        hint=hint,
        headers=headers,
        extra={key: value for key, value in document.items() if key not in _PROBLEM_MEMBERS},
        retry_after=_find_retry_after(status, headers, wall),
        plain=not document,
        body=body,
    )


def _parse_document(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _read_text(document: Mapping[str, Any], member: str) -> str | None:
    value = document.get(member)
    return value if isinstance(value, str) and value else None


def _read_plain_text(headers: Mapping[str, str], body: bytes) -> str:
    media_type = next((value for key, value in headers.items() if key.lower() == "content-type"), "")
    if not media_type.lower().startswith("text/plain"):
        return ""
    return body.decode("utf-8", "replace").strip()[:_MAX_TEXT_CHARS]


def _code_for_status(status: int) -> str:
    # A status with several codes gets the most general one: a bare 403 must not suggest that another plan would help.
    if status == 403:
        return "forbidden"
    named = next((code for code, row in PROBLEMS.items() if row.status == status), None)
    return named or ("bad_request" if status < 500 else "internal")


def _find_retry_after(status: int, headers: Mapping[str, str], wall: float) -> float | None:
    asked = read_retry_after(headers, wall)
    budget: RateBudget | None = read_budget(headers, wall) if asked is None and status == 429 else None
    return budget.reset if budget is not None and budget.reset > 0 else asked
