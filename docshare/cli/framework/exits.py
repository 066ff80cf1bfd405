"""Exit codes: scripts rely on them, so the numbers never change their meaning.

The command line fails by raising ``Stop``, and the server's errors arrive as ``Problem``. ``exit_code`` maps both, and
the exceptions of the client library, to a number.
"""

from enum import IntEnum

from docshare.client.errors import ClientError, TransportError, UnknownOutcome
from docshare.contract.problems import Problem


class ExitCode(IntEnum):
    """The exit codes of the command line."""

    OK = 0
    ERROR = 1
    USAGE = 2
    NOT_FOUND = 3
    CREDENTIAL = 4
    FORBIDDEN = 5
    PLAN = 6
    CONFLICT = 7
    GONE = 8
    REJECTED = 9
    RATE_LIMITED = 10
    UNREACHABLE = 11
    PARTIAL = 12
    CHECK_FAILED = 13
    UNKNOWN_OUTCOME = 14
    DEADLINE = 124
    HUNG_UP = 129
    INTERRUPTED = 130
    CLOSED_PIPE = 141
    TERMINATED = 143


UNWRITABLE = "output"  # ``Stop.code`` for errors of standard output
UNRENDERED = "unrendered"  # ``Stop.code`` for rows that --query or --template does not fit, found once they exist

MEANINGS: dict[ExitCode, str] = {
    ExitCode.OK: "Done. An empty list is success.",
    ExitCode.ERROR: "Unexpected error; the report is in crash.log in the state directory.",
    ExitCode.USAGE: "Invalid usage or local input, or a confirmation was missing or declined.",
    ExitCode.NOT_FOUND: "Not found (HTTP 404).",
    ExitCode.CREDENTIAL: "Missing, invalid, or expired credential (HTTP 401).",
    ExitCode.FORBIDDEN: "Forbidden, or the credential lacks a scope (HTTP 403).",
    ExitCode.PLAN: "The plan is too low or one of its limits is reached (HTTP 403).",
    ExitCode.CONFLICT: "Conflict with the current state (HTTP 409), or another process holds the lock.",
    ExitCode.GONE: "Gone: the link is expired or burned (HTTP 410).",
    ExitCode.REJECTED: "The server rejected the request (HTTP 400, 405, 413, 415, 422).",
    ExitCode.RATE_LIMITED: "Still rate limited after waiting (HTTP 429).",
    ExitCode.UNREACHABLE: "Server or network failure (HTTP 5xx, DNS, TLS, timeouts).",
    ExitCode.PARTIAL: "Some of several items failed.",
    ExitCode.CHECK_FAILED: "A check failed.",
    ExitCode.UNKNOWN_OUTCOME: "A write may or may not have happened; check before retrying.",
    ExitCode.DEADLINE: "Timed out: --deadline, or the --timeout of a tail or wait.",
    ExitCode.HUNG_UP: "The terminal was closed (SIGHUP).",
    ExitCode.INTERRUPTED: "Interrupted (Ctrl-C).",
    ExitCode.CLOSED_PIPE: "The reader of standard output has gone.",
    ExitCode.TERMINATED: "Terminated (SIGTERM).",
}

_BY_STATUS: dict[int, ExitCode] = {
    401: ExitCode.CREDENTIAL,
    403: ExitCode.FORBIDDEN,
    404: ExitCode.NOT_FOUND,
    409: ExitCode.CONFLICT,
    410: ExitCode.GONE,
    429: ExitCode.RATE_LIMITED,
}


class Stop(Exception):
    """An error of the command line itself.

    Parameters: ``exit``: the exit code; ``detail``: what is wrong, in one sentence; ``hint``: what to do about it;
    ``code``: the value of ``error.code`` in JSON (default: the lowercase name of the exit code).
    """

    def __init__(self, exit: ExitCode, detail: str, *, hint: str = "", code: str = "") -> None:
        self.exit = exit
        self.detail = detail
        self.hint = hint
        self.code = code or exit.name.lower()
        super().__init__(detail)


class Terminated(BaseException):
    """SIGTERM arrived. Not an ``Exception``, so that only cleanup code catches it."""


class HungUp(Terminated):
    """SIGHUP arrived: the terminal was closed."""


class DeadlinePassed(BaseException):
    """The time limit of ``--deadline`` has passed."""


class ClosedPipe(BaseException):
    """The reader of standard output has gone. Distinct from a broken pipe to the server, which is a failure."""


def problem_exit_code(problem: Problem, *, at_file_limit: bool = False) -> ExitCode:
    """Return the exit code of a problem document.

    ``at_file_limit``: the caller knows that the reason is the file limit, which the server reports only as
    ``forbidden``.
    """
    if problem.code == "plan_required" or (problem.status == 403 and at_file_limit):
        return ExitCode.PLAN
    if problem.status in _BY_STATUS:
        return _BY_STATUS[problem.status]
    if 400 <= problem.status < 500:
        return ExitCode.REJECTED
    return ExitCode.UNREACHABLE


def exit_code(error: BaseException) -> ExitCode:
    """Return the exit code of the exception that ended a command."""
    if isinstance(error, Stop):
        return error.exit
    if isinstance(error, Problem):
        return problem_exit_code(error, at_file_limit=getattr(error, "is_at_file_limit", False))
    return next((code for kind, code in _BY_KIND.items() if isinstance(error, kind)), ExitCode.ERROR)


# The first match wins, so specific kinds come before general ones.
_BY_KIND: dict[type[BaseException], ExitCode] = {
    KeyboardInterrupt: ExitCode.INTERRUPTED,
    HungUp: ExitCode.HUNG_UP,
    Terminated: ExitCode.TERMINATED,
    DeadlinePassed: ExitCode.DEADLINE,
    ClosedPipe: ExitCode.CLOSED_PIPE,
    UnknownOutcome: ExitCode.UNKNOWN_OUTCOME,
    TransportError: ExitCode.UNREACHABLE,
    ClientError: ExitCode.USAGE,
}
