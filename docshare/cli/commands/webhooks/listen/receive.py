"""Handle the deliveries of a server: verify them, forward them, and respond as the receivers did."""

import random
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.webhooks.listen.forward import Forwarder, ForwardResult, combine_statuses
from docshare.cli.commands.webhooks.listen.output import Journal, ReceivedDelivery
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.signals import raise_lost_signal
from docshare.contract.signing import verify
from docshare.contract.webhooks import SIGNATURE_HEADER, TEST_KIND

if TYPE_CHECKING:
    from docshare.cli.commands.webhooks.listen.receiver import IncomingRequest
    from docshare.cli.framework.context import Context

_UNVERIFIED, _UNAVAILABLE = 401, 503
_POLL_SLICE_S = 1.0  # seconds between checks of the limits
_SECRET_WAIT_S = 15.0  # seconds that a delivery waits for the secret to verify it
_SIGNATURE_PREFIX = "v1="


@dataclass(frozen=True)
class FaultInjection:
    """Simulates a bad receiver: wait ``latency`` seconds before each response, and respond with ``status`` to a share
    of ``fail_rate`` (0 to 1) of all deliveries."""

    latency: float = 0.0
    status: int = 500
    fail_rate: float = 0.0


@dataclass(frozen=True, eq=False, repr=False)
class ListenLimits:
    """When listening ends: after ``count`` deliveries, ``timeout`` seconds, or ``give_up_after`` seconds of failure.
    ``heartbeat`` is the number of seconds between heartbeat lines, 0 for none."""

    count: int | None
    timeout: float | None
    give_up_after: float
    heartbeat: float

    @property
    def timeout_exit_code(self) -> ExitCode:
        """Return the exit code for a timeout."""
        return ExitCode.OK if self.count is None else ExitCode.DEADLINE


class DeliveryHandler:
    """Handles deliveries, each in a thread of the receiver. ``over`` is set after the last delivery, or when one could
    not be printed."""

    def __init__(
        self, context: "Context", journal: Journal, forwarder: Forwarder, faults: FaultInjection, count: int | None
    ) -> None:
        self._ctx = context
        self._journal = journal
        self._forwarder = forwarder
        self._faults = faults
        self._count = count
        self._secret = ""
        self._secret_ready = threading.Event()
        self._lock = threading.Lock()
        self._failure: BaseException | None = None
        self._free_slots = count
        self.over = threading.Event()
        self.accepted_count = 0
        self._probing = False

    def set_secret(self, secret: str) -> None:
        """Set the secret for verification. Earlier deliveries wait for it."""
        self._secret = secret
        self._secret_ready.set()

    def probe(self, send: Callable[[], Mapping[str, Any]], where: str) -> None:
        """Send a test delivery to ``where`` without printing it.

        Raise Stop (11) if it does not arrive, because no other delivery would, and as ``send`` does.
        """
        self._probing = True
        result = send()
        self._probing = False
        if not result.get("delivered"):
            status = result.get("status")
            how = f"the response was {status}" if status else "there was no response"
            raise Stop(
                ExitCode.UNREACHABLE,
                f"a test delivery to {where} did not arrive: {how}",
                hint="Check that the URL points to this machine and to --port.",
            )

    def handle(self, hit: "IncomingRequest") -> int:
        """Handle a delivery and return the status of the response."""
        if not self._secret_ready.wait(_SECRET_WAIT_S) or self.over.is_set():
            return _UNAVAILABLE
        try:
            return self._process(self._verify(hit))
        except BaseException as error:  # noqa: BLE001 - raised again in the main thread
            self._failure = self._failure or error
            self.over.set()
            return _UNAVAILABLE

    def finish_response(self) -> None:
        """Set ``over`` if the response that was just sent was the last one to wait for."""
        if self._count is not None and self.accepted_count >= self._count:
            self.over.set()

    def raise_failure(self) -> None:
        """Raise the error that prevented a delivery from being printed, if any."""
        if self._failure is not None:
            raise self._failure

    def _verify(self, hit: "IncomingRequest") -> ReceivedDelivery:
        now = self._ctx.now()
        header = find_signature(hit)
        verdict = verify(self._secret, hit.body, header, now)
        flaw = "" if verdict else verdict.value if header else "The delivery has no signature."
        return ReceivedDelivery(now, hit.headers, hit.body, flaw)

    def _process(self, arrival: ReceivedDelivery) -> int:
        if arrival.signature_error:
            # Anyone can post here. A delivery that is not from the server is never forwarded.
            self._journal.add(arrival.row((), _UNVERIFIED))
            return _UNVERIFIED
        if self._probing and arrival.kind == TEST_KIND:
            return 200
        if not self._reserve_slot():
            return _UNAVAILABLE
        if self._faults.latency:
            self.over.wait(self._faults.latency)
        forwards: list[ForwardResult] = []
        if self._is_fault_due():
            answer = self._faults.status
        else:
            forwards = self._forwarder.send(arrival.headers, arrival.body)
            answer = combine_statuses(forwards)
        with self._lock:
            self._journal.add(arrival.row(forwards, answer))
            self.accepted_count += 1
        return answer

    def _reserve_slot(self) -> bool:
        """Return whether another delivery may be printed; the server retries the others."""
        with self._lock:
            if self._free_slots is None:
                return True
            self._free_slots -= 1
            return self._free_slots >= 0

    def _is_fault_due(self) -> bool:
        return self._faults.fail_rate > 0 and random.random() < self._faults.fail_rate  # noqa: S311 - no secret


def find_signature(hit: "IncomingRequest") -> str:
    """Return the signature of a delivery: the value of its header or, if the server uses another header name, the first
    value that looks like a signature; empty without one."""
    by_name = next((value for name, value in hit.headers.items() if name.lower() == SIGNATURE_HEADER.lower()), "")
    return by_name or next(
        (value for value in hit.headers.values() if value.startswith("t=") and _SIGNATURE_PREFIX in value), ""
    )


def wait_until_done(
    context: "Context", handler: DeliveryHandler, limits: ListenLimits, pulse: Callable[[], float]
) -> ExitCode:
    """Wait until ``handler`` is over or the timeout passes, and return the exit code.

    ``pulse`` keeps the source alive and returns the seconds until the next call; what it raises ends the wait. Raise
    the error that prevented a delivery from being printed.
    """
    began = last_heartbeat = context.monotonic()
    next_pulse = began + pulse()
    while not handler.over.wait(_POLL_SLICE_S):
        raise_lost_signal()
        now = context.monotonic()
        if limits.timeout is not None and now - began >= limits.timeout:
            return limits.timeout_exit_code
        if now >= next_pulse:
            next_pulse = now + pulse()
        if limits.heartbeat and not context.stderr_tty and now - last_heartbeat >= limits.heartbeat:
            context.note(f"still listening; {handler.accepted_count} deliveries so far")
            last_heartbeat = now
    handler.raise_failure()
    return ExitCode.OK
