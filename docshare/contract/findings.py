"""The results of the checks of ``docshare doctor``, which run in the command line and in the server."""

import queue
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

ERROR, WARNING, INFO = "error", "warning", "info"


class Finding(NamedTuple):
    """The result of one check: ``ok`` (None: the check does not apply), ``detail`` (the result in one sentence),
    ``fix`` (what to do if it is not ok), and ``level`` (``error``, ``warning``, or ``info``)."""

    ok: bool | None
    detail: str
    fix: str = ""
    level: str = INFO

    def row(self, check: str) -> dict[str, Any]:
        """Return the finding as a JSON row of the check ``check``."""
        return {"check": check, "ok": self.ok, "level": self.level, "detail": self.detail, "fix": self.fix}


def fine(detail: str) -> Finding:
    """Return a finding of a check that passed."""
    return Finding(True, detail)


def absent(detail: str) -> Finding:
    """Return a finding of a check that does not apply; ``detail`` says why."""
    return Finding(None, detail)


def doubtful(detail: str, fix: str) -> Finding:
    """Return a warning."""
    return Finding(False, detail, fix, WARNING)


def broken(detail: str, fix: str) -> Finding:
    """Return an error."""
    return Finding(False, detail, fix, ERROR)


def found_within(seconds: float, check: Callable[[], Finding], fix: str = "") -> Finding:
    """Run ``check`` in a separate thread and return its finding, so that a check that fails or hangs affects no other.

    Parameters: ``seconds`` the time limit; ``fix`` the fix to report if the check exceeds it.
    """
    found: queue.SimpleQueue[Finding] = queue.SimpleQueue()

    def work() -> None:
        try:
            found.put(check())
        except Exception as error:  # noqa: BLE001 - any exception is reported as a finding
            found.put(broken(_words(error), getattr(error, "hint", None) or fix))

    threading.Thread(target=work, name="check", daemon=True).start()
    try:
        return found.get(timeout=seconds)
    except queue.Empty:
        return broken(f"no answer within {seconds:g} seconds", fix)


def _words(error: Exception) -> str:
    return getattr(error, "detail", None) or str(error) or type(error).__name__
