"""How the workers of this host are confined: measured in one that is started for it, and not assumed."""

import logging
import threading

from docshare.server.pdf.child import BrokenWorkerError, ConfinementLayers, WorkerProcess, WorkerTimeoutError
from docshare.server.pdf.worker.confine import LAYERS

_MEMORY_BYTES = 1 << 30
_TIMEOUT_S = 10.0
_log = logging.getLogger(__name__)


class UnconfinedError(Exception):
    """A layer is missing that the operator requires; ``hint`` says how the host gets it."""

    def __init__(self, detail: str, hint: str) -> None:
        super().__init__(detail)
        self.hint = hint


class ConfinementProbe:
    """What holds on this host, found out once, at first use. ``required``: the operator wants every layer."""

    def __init__(self, *, required: bool = False) -> None:
        self.required = required
        self._lock = threading.Lock()
        self._layers: ConfinementLayers | None = None

    @property
    def known(self) -> ConfinementLayers | None:
        """The layers if they have been measured."""
        return self._layers

    def measure(self) -> ConfinementLayers:
        """Start a worker and ask it. Raises BrokenWorkerError or LateWorkerError when it does not come up."""
        with self._lock:
            if self._layers is None:
                child = WorkerProcess(memory_bytes=_MEMORY_BYTES, timeout_s=_TIMEOUT_S)
                self._layers = child.layers
                child.close()
            return self._layers

    def check(self) -> None:
        """Raise Unconfined if a layer is required and missing; otherwise measure in the background."""
        if not self.required:
            threading.Thread(target=self._report, name="confinement", daemon=True).start()
            return
        try:
            reasons = self.measure().reasons()
        except (BrokenWorkerError, WorkerTimeoutError) as error:
            raise UnconfinedError(str(error), "Look at the installation: docshare doctor") from error
        if reasons:
            words = ", ".join(f"{name} ({reason})" for name, reason in reasons.items())
            detail = f"DOCSHARE_CONFINEMENT is required, and this host does not allow: {words}"
            raise UnconfinedError(detail, LAYERS[next(iter(reasons))])

    def _report(self) -> None:
        try:
            reasons = self.measure().reasons()
        except (BrokenWorkerError, WorkerTimeoutError):
            return  # the engine says so when it is needed
        if reasons:
            _log.warning("PDF workers are confined without %s; see docshare doctor", ", ".join(reasons))
