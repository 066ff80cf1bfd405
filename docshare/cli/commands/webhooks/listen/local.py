"""Listening to the server on this machine: a subscription that lives as long as we say that we are there."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docshare.cli.framework.admin_channel import RunningServer
from docshare.cli.framework.polling import FailureTracker, is_final
from docshare.client.errors import Refused, TransportError

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context

_KEEP_ALIVE_S = 10.0  # seconds; a sixth of the time after which the server forgets us
_RETRY_DELAY_S = 1.0  # seconds, at first, while the server does not answer


class LocalSubscription:
    """A listener of the server that owns ``directory``.

    Parameters: ``wish`` the arguments of "listen start" but the address and the secret; ``secret`` to be signed with,
    empty for a fresh one; ``patience`` seconds of silence of the server that are borne.
    """

    def __init__(self, context: "Context", directory: Path, wish: dict[str, str], secret: str, patience: float) -> None:
        self._ctx = context
        self._wish = wish
        self._trouble = FailureTracker(context, patience)
        self._server = RunningServer(directory)
        self._url = ""
        self._uuid = ""
        self.secret = secret
        self.account = ""

    def start(self, url: str) -> None:
        """Ask for deliveries at ``url``. Raises Problem as the server does, TransportError."""
        self._url = url
        answer: dict[str, Any] = self._server.tell("listen start", {**self._wish, "url": url, "secret": self.secret})
        self._uuid, self.secret, self.account = answer["uuid"], answer["secret"], answer["account"]

    def test(self) -> Mapping[str, Any]:
        """Have a test delivery sent; how that went. Raises Problem as the server does, TransportError."""
        result: dict[str, Any] = self._server.tell("listen test", {"uuid": self._uuid})
        return result

    def pulse(self) -> float:
        """Say that we are still there; returns the seconds until this is due again. Stop (11) after long failure."""
        try:
            self._keep()
        except (Refused, TransportError) as error:
            if is_final(error):
                raise
            return self._trouble.after(error, _RETRY_DELAY_S)
        self._trouble.over()
        return _KEEP_ALIVE_S

    def stop(self) -> None:
        """Ask for nothing more. A server that is gone forgets us by itself."""
        if self._uuid:
            try:
                self._server.tell("listen stop", {"uuid": self._uuid})
            except (Refused, TransportError):
                self._ctx.trace("the server does not answer; it forgets this listener by itself")

    def _keep(self) -> None:
        if self._trouble.going_on:
            self._server.find_again()
        try:
            self._server.tell("listen keep", {"uuid": self._uuid})
        except Refused as refusal:
            if refusal.code != "not_found":
                raise
            self._ctx.warn("the server had forgotten this listener: what happened in between was not delivered")
            self.start(self._url)
