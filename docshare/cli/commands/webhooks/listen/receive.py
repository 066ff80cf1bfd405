"""Taking the deliveries of a server: verify, hand on, answer as the programs behind answered."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from docshare.cli.commands.webhooks.listen.forward import Forwarder, ForwardResult, combine_statuses
from docshare.cli.commands.webhooks.listen.output import Journal, ReceivedDelivery
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.contract.signing import verify
from docshare.contract.webhooks import SIGNATURE_HEADER, TEST_KIND

if TYPE_CHECKING:
    from docshare.cli.commands.webhooks.listen.receiver import IncomingRequest
    from docshare.cli.framework.context import Context
from docshare.cli.framework.signals import raise_lost_signal

_UNVERIFIED, _UNAVAILABLE = 401, 503
_POLL_SLICE_S = 1.0  # seconds between two looks at the clock
_SECRET_WAIT_S = 15.0  # seconds that a delivery waits for the secret it is verified with
_SIGNATURE_PREFIX = "v1="


class FaultInjection(NamedTuple):
    """How to play a bad receiver: ``latency`` seconds before each answer; ``status`` instead of taking it, for a share
    of ``fail_rate`` (0 to 1) of all deliveries."""

    latency: float = 0.0
    status: int = 500
    fail_rate: float = 0.0


@dataclass(frozen=True, eq=False, repr=False)
class ListenLimits:
    """When listening ends: after ``count`` deliveries, after ``timeout`` seconds, after failing for ``give_up_after``
    seconds; a sign of life every ``heartbeat`` seconds, 0 for none."""

    count: int | None
    timeout: float | None
    give_up_after: float
    heartbeat: float

    @property
    def ran_out(self) -> ExitCode:
        """What it means that the time is over."""
        return ExitCode.OK if self.count is None else ExitCode.DEADLINE


class DeliveryHandler:
    """Where deliveries are taken, each in a thread of the receiver. ``over`` is set once enough came, or when one could
    not be shown."""

    def __init__(
        self, context: "Context", journal: Journal, forwarder: Forwarder, acting: FaultInjection, count: int | None
    ) -> None:
        self._ctx = context
        self._journal = journal
        self._forwarder = forwarder
        self._acting = acting
        self._count = count
        self._secret = ""
        self._armed = threading.Event()
        self._lock = threading.Lock()
        self._failure: BaseException | None = None
        self._places = count
        self.over = threading.Event()
        self.taken = 0
        self._probing = False

    def arm(self, secret: str) -> None:
        """Verify with ``secret`` from now on; what came earlier waited for it."""
        self._secret = secret
        self._armed.set()

    def probe(self, send: Callable[[], Mapping[str, Any]], where: str) -> None:
        """Have a test delivery sent to ``where``, and keep it from sight. Stop (11) where it does not arrive: whoever
        said "ready" then would say it in vain. Raises what ``send`` raises."""
        self._probing = True
        result = send()
        self._probing = False
        if not result.get("delivered"):
            status = result.get("status")
            how = f"the answer there was {status}" if status else "nothing answered there"
            raise Stop(
                ExitCode.UNREACHABLE,
                f"a test delivery to {where} did not arrive: {how}",
                hint="Does it lead to this machine, and to --port?",
            )

    def take(self, hit: "IncomingRequest") -> int:
        """Deal with one delivery; returns the status to answer."""
        if not self._armed.wait(_SECRET_WAIT_S) or self.over.is_set():
            return _UNAVAILABLE
        try:
            return self._dealt_with(self._arrival(hit))
        except BaseException as error:  # noqa: BLE001 - raised again in the main thread
            self._failure = self._failure or error
            self.over.set()
            return _UNAVAILABLE

    def answered(self) -> None:
        """An answer is out."""
        if self._count is not None and self.taken >= self._count:
            self.over.set()

    def raise_failure(self) -> None:
        """Raise what kept a delivery from being shown, if anything did."""
        if self._failure is not None:
            raise self._failure

    def _arrival(self, hit: "IncomingRequest") -> ReceivedDelivery:
        now = self._ctx.now()
        header = find_signature(hit)
        verdict = verify(self._secret, hit.body, header, now)
        flaw = "" if verdict else verdict.value if header else "There is no signature."
        return ReceivedDelivery(now, hit.headers, hit.body, flaw)

    def _dealt_with(self, arrival: ReceivedDelivery) -> int:
        if arrival.flaw:
            # Anybody can post here. What is not from the server reaches no program of the developer.
            self._journal.add(arrival.row((), _UNVERIFIED))
            return _UNVERIFIED
        if self._probing and arrival.kind == TEST_KIND:
            return 200
        if not self._has_place():
            return _UNAVAILABLE
        if self._acting.latency:
            self.over.wait(self._acting.latency)
        forwards: list[ForwardResult] = []
        if self._plays_bad():
            answer = self._acting.status
        else:
            forwards = self._forwarder.send(arrival.headers, arrival.body)
            answer = combine_statuses(forwards)
        with self._lock:
            self._journal.add(arrival.row(forwards, answer))
            self.taken += 1
        return answer

    def _has_place(self) -> bool:
        """Whether one more may be shown; what comes beyond is for the server to send again."""
        with self._lock:
            if self._places is None:
                return True
            self._places -= 1
            return self._places >= 0

    def _plays_bad(self) -> bool:
        import random

        return self._acting.fail_rate > 0 and random.random() < self._acting.fail_rate  # noqa: S311 - no secret


def find_signature(hit: "IncomingRequest") -> str:
    """The signature of a delivery. Spec gap: a server may call its header otherwise, so the value tells it too."""
    by_name = next((value for name, value in hit.headers.items() if name.lower() == SIGNATURE_HEADER.lower()), "")
    return by_name or next(
        (value for value in hit.headers.values() if value.startswith("t=") and _SIGNATURE_PREFIX in value), ""
    )


def wait_until_done(
    context: "Context", desk: DeliveryHandler, limits: ListenLimits, pulse: Callable[[], float]
) -> ExitCode:
    """Stay until the desk is over or the time is; returns the exit code.

    Parameters: ``pulse`` sees to it that deliveries go on coming, and returns the seconds until it wants to be called
    again; what it raises ends the listening. Raises what kept a delivery from being shown.
    """
    began = last_word = context.monotonic()
    next_pulse = began + pulse()
    while not desk.over.wait(_POLL_SLICE_S):
        raise_lost_signal()
        now = context.monotonic()
        if limits.timeout is not None and now - began >= limits.timeout:
            return limits.ran_out
        if now >= next_pulse:
            next_pulse = now + pulse()
        if limits.heartbeat and not context.stderr_tty and now - last_word >= limits.heartbeat:
            context.note(f"still listening; {desk.taken} deliveries so far")
            last_word = now
    desk.raise_failure()
    return ExitCode.OK
