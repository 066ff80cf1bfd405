"""Measure how this host confines PDF workers, by starting one."""

import logging
import threading

from docshare.server.pdf.child import BrokenWorkerError, ConfinementLayers, WorkerProcess, WorkerTimeoutError
from docshare.server.pdf.worker.confine import LAYERS

_MEMORY_BYTES = 1 << 30
_TIMEOUT_S = 10.0
_log = logging.getLogger(__name__)


class UnconfinedError(Exception):
    """A layer that the operator requires is missing. ``hint`` explains how to enable it."""

    def __init__(self, detail: str, hint: str) -> None:
        super().__init__(detail)
        self.hint = hint


class ConfinementProbe:
    """The confinement layers of this host, measured once, on first use. ``required``: every layer must be active."""

    def __init__(self, *, required: bool = False) -> None:
        self.required = required
        self._lock = threading.Lock()
        self._layers: ConfinementLayers | None = None

    @property
    def layers(self) -> ConfinementLayers | None:
        """The layers, or None before they are measured."""
        return self._layers

    def measure(self) -> ConfinementLayers:
        """Start a worker and return its layers. Raises BrokenWorkerError or WorkerTimeoutError if it does not start."""
        with self._lock:
            if self._layers is None:
                child = WorkerProcess(memory_bytes=_MEMORY_BYTES, timeout_s=_TIMEOUT_S)
                self._layers = child.layers
                child.close()
            return self._layers

    def require_layers(self) -> None:
        """Raise UnconfinedError if a required layer is missing. If no layer is required, measure in the background."""
        if not self.required:
            threading.Thread(target=self._report, name="confinement", daemon=True).start()
            return
        try:
            reasons = self.measure().list_missing()
        except (BrokenWorkerError, WorkerTimeoutError) as error:
            raise UnconfinedError(str(error), "Check the installation: docshare doctor") from error
        if reasons:
            missing = ", ".join(f"{name} ({reason})" for name, reason in reasons.items())
            detail = f"DOCSHARE_CONFINEMENT is required, but this host does not support: {missing}"
            raise UnconfinedError(detail, LAYERS[next(iter(reasons))])

    def _report(self) -> None:
        try:
            reasons = self.measure().list_missing()
        except (BrokenWorkerError, WorkerTimeoutError):
            return  # the engine reports the error when it is needed
        if reasons:
            _log.warning("PDF workers run without %s; see docshare doctor", ", ".join(reasons))
