"""Turns in checking passwords, which is slow on purpose."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from docshare.contract.limits import SECOND
from docshare.server.fair_slots import FairSlots, Ticket, TicketState
from docshare.server.http import parking
from docshare.server.http.parking import RequestParked

_MAX_CHECKS = 2
_MAX_WAITING = 200
_MAX_REMEMBERED = 64  # networks; an attacker may have any number
VERIFIED_MS = 30 * SECOND
"""How long a correct password need not be computed again: dozens of readers enter the same one when a talk begins."""
_MAX_VERIFIED = 1_000


@dataclass(eq=False)
class PasswordTurn:
    """The wait of one request for its turn. ``key`` identifies the password that it tries; ``ticket`` is None while
    another request tries the same one."""

    turns: "PasswordTurns"
    key: bytes
    who: Hashable
    notify: Callable[[], None]
    ticket: Ticket | None = None
    is_ended: bool = False

    def end(self) -> None:
        """Pass the turn to the next request."""
        self.turns.end(self)


class PasswordTurns:
    """Checks of passwords: two at a time, for networks in turn, and each password once in ``VERIFIED_MS``.

    Requests that try the same password on the same link wait for the first of them and do not count as waiting: if it
    is correct, all of them continue, and otherwise the next one has its turn. So a whole office enters in the time of
    one check, also while others flood the queue.

    Of correct passwords, only a hash with the random ``secret`` is kept, in memory.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._slots = FairSlots(_MAX_CHECKS, _MAX_WAITING, max_remembered=_MAX_REMEMBERED)
        self._lock = threading.Lock()
        self._groups: dict[bytes, list[PasswordTurn]] = {}
        self._verified: OrderedDict[bytes, int] = OrderedDict()  # until when, in milliseconds

    def compute_key(self, stored: str, password: str) -> bytes:
        """Return the key of ``password`` for the hash ``stored``, whose salt distinguishes links."""
        message = f"{stored}\n{password}".encode(errors="surrogatepass")
        return hashlib.blake2b(message, key=self._secret, digest_size=32).digest()

    def remember(self, key: bytes, now: int) -> None:
        """Store that the password of ``key`` is correct."""
        with self._lock:
            self._verified[key] = now + VERIFIED_MS
            self._verified.move_to_end(key)
            if len(self._verified) > _MAX_VERIFIED:
                self._verified.popitem(last=False)

    def is_verified(self, key: bytes, now: int) -> bool:
        """Return whether the password of ``key`` was found to be correct a short time ago."""
        with self._lock:
            until = self._verified.get(key)
            if until is not None and until <= now:
                del self._verified[key]
            return until is not None and now < until

    @contextmanager
    def hold(self, key: bytes, who: Hashable, wait_s: float) -> Iterator[bool]:
        """Hold a turn for the duration of the block; yield False if the request must not check the password: another
        one has found that it is correct, or too many wait.

        Raises ``RequestParked`` where the request can wait without a thread; otherwise waits up to ``wait_s`` seconds.
        """
        turn = self._take(key, who, wait_s)
        try:
            yield turn.ticket is not None and turn.ticket.state is TicketState.HELD
        finally:
            turn.end()

    def end(self, turn: PasswordTurn) -> None:
        """Remove ``turn`` from the requests that try the same password, and let these continue."""
        with self._lock:
            if turn.is_ended:
                return
            turn.is_ended = True
            group = self._groups[turn.key]
            group.remove(turn)
            if turn.ticket is not None:
                self._slots.release(turn.ticket)
            if turn.key in self._verified:
                for other in group:
                    other.is_ended = True
                    other.notify()
                group.clear()
            elif turn.ticket is not None and group:
                group[0].ticket = self._slots.request(group[0].who, group[0].notify)
            if not group:
                del self._groups[turn.key]

    def _take(self, key: bytes, who: Hashable, wait_s: float) -> PasswordTurn:
        """Return a turn that does not wait any more, unless ``wait_s`` seconds are over. Raises ``RequestParked``."""
        request = parking.current_request()
        if request is None:
            event = threading.Event()
            turn = self._request(key, who, event.set)
            event.wait(wait_s)
            return turn
        if isinstance(request.claim, PasswordTurn) and request.claim.key == key and not request.claim.is_ended:
            turn = request.claim
        else:
            request.end_claim()
            turn = request.claim = self._request(key, who, request.resume)
        if self._is_waiting(turn):
            raise RequestParked
        return turn

    def _request(self, key: bytes, who: Hashable, notify: Callable[[], None]) -> PasswordTurn:
        turn = PasswordTurn(self, key, who, notify)
        with self._lock:
            group = self._groups.setdefault(key, [])
            group.append(turn)
            if len(group) == 1:
                turn.ticket = self._slots.request(who, notify)
        return turn

    def _is_waiting(self, turn: PasswordTurn) -> bool:
        with self._lock:
            return not turn.is_ended and (turn.ticket is None or turn.ticket.state is TicketState.WAITING)
