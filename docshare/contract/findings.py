"""What a check of ``docshare doctor`` found, said alike by the command line and by the server it asks."""

import queue
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

ERROR, WARNING, INFO = "error", "warning", "info"


class Finding(NamedTuple):
    """``ok``: None where the check does not apply; ``detail``: what was found, in one sentence; ``fix``: what to do if
    it is not ok; ``level``: how bad that is, ``error`` or ``warning``, else ``info``."""

    ok: bool | None
    detail: str
    fix: str = ""
    level: str = INFO

    def row(self, check: str) -> dict[str, Any]:
        """As JSON, under the name ``check``."""
        return {"check": check, "ok": self.ok, "level": self.level, "detail": self.detail, "fix": self.fix}


def fine(detail: str) -> Finding:
    """All is well."""
    return Finding(True, detail)


def absent(detail: str) -> Finding:
    """The check does not apply; ``detail`` says why."""
    return Finding(None, detail)


def doubtful(detail: str, fix: str) -> Finding:
    """It works, but not as it should."""
    return Finding(False, detail, fix, WARNING)


def broken(detail: str, fix: str) -> Finding:
    """It does not work."""
    return Finding(False, detail, fix, ERROR)


def found_within(seconds: float, check: Callable[[], Finding], fix: str = "") -> Finding:
    """What ``check`` finds, in a thread of its own: one that fails or hangs takes no other down with it.

    Parameters: ``seconds`` how long it may take; ``fix`` what helps where it takes longer.
    """
    found: queue.SimpleQueue[Finding] = queue.SimpleQueue()

    def work() -> None:
        try:
            found.put(check())
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what was found
            found.put(broken(_words(error), getattr(error, "hint", None) or fix))

    threading.Thread(target=work, name="check", daemon=True).start()
    try:
        return found.get(timeout=seconds)
    except queue.Empty:
        return broken(f"no answer within {seconds:g} seconds", fix)


def _words(error: Exception) -> str:
    return getattr(error, "detail", None) or str(error) or type(error).__name__
