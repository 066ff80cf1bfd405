"""The results of the checks of ``docshare doctor``, which run in the command line and in the server."""

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ERROR, WARNING, INFO = "error", "warning", "info"


@dataclass(frozen=True)
class DiagnosticFinding:
    """The result of one check: ``ok`` (None: the check does not apply), ``detail`` (the result in one sentence),
    ``fix`` (what to do if it is not ok), and ``level`` (``error``, ``warning``, or ``info``)."""

    ok: bool | None
    detail: str
    fix: str = ""
    level: str = INFO

    def row(self, check: str) -> dict[str, Any]:
        """Return the finding as a JSON row of the check ``check``."""
        return {"check": check, "ok": self.ok, "level": self.level, "detail": self.detail, "fix": self.fix}


def passed_finding(detail: str) -> DiagnosticFinding:
    """Return a finding of a check that passed."""
    return DiagnosticFinding(True, detail)


def skipped_finding(detail: str) -> DiagnosticFinding:
    """Return a finding of a check that does not apply; ``detail`` is the reason."""
    return DiagnosticFinding(None, detail)


def warning_finding(detail: str, fix: str) -> DiagnosticFinding:
    """Return a warning."""
    return DiagnosticFinding(False, detail, fix, WARNING)


def error_finding(detail: str, fix: str) -> DiagnosticFinding:
    """Return an error."""
    return DiagnosticFinding(False, detail, fix, ERROR)


def run_check(seconds: float, check: Callable[[], DiagnosticFinding], fix: str = "") -> DiagnosticFinding:
    """Run ``check`` in a separate thread and return its finding, so that a check that fails or hangs affects no other.

    Parameters: ``seconds`` the time limit; ``fix`` the fix to report if the check exceeds it.
    """
    found: queue.Queue[DiagnosticFinding] = queue.Queue()

    def work() -> None:
        try:
            found.put(check())
        except Exception as error:  # noqa: BLE001 - any exception is reported as a finding
            found.put(error_finding(_describe_error(error), getattr(error, "hint", None) or fix))

    threading.Thread(target=work, name="check", daemon=True).start()
    try:
        return found.get(timeout=seconds)
    except queue.Empty:
        return error_finding(f"no response within {seconds:g} seconds", fix)


def _describe_error(error: Exception) -> str:
    return getattr(error, "detail", None) or str(error) or type(error).__name__
