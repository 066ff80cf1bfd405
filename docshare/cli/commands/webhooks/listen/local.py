"""Listen to the server on this machine through a subscription that expires without keep-alive calls."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docshare.cli.framework.admin_channel import RunningServer
from docshare.cli.framework.context import Context
from docshare.cli.framework.polling import FailureTracker, is_final
from docshare.client.errors import TransportError
from docshare.contract.problems import Problem

_KEEP_ALIVE_S = 10.0  # seconds; a sixth of the time after which the subscription expires
_RETRY_DELAY_S = 1.0  # seconds; first delay while the server does not respond


class LocalSubscription:
    """A subscription to the server that owns ``directory``.

    ``arguments`` are those of "listen start" except URL and secret. An empty ``secret`` requests a new one.
    ``patience`` is the number of seconds that the server may fail to respond.
    """

    def __init__(
        self, context: Context, directory: Path, arguments: dict[str, str], secret: str, patience: float
    ) -> None:
        self._ctx = context
        self._wish = arguments
        self._trouble = FailureTracker(context, patience)
        self._server = RunningServer(directory)
        self._url = ""
        self._uuid = ""
        self.secret = secret
        self.account = ""

    def start(self, url: str) -> None:
        """Subscribe ``url`` to deliveries. Raise Problem from the server, or TransportError."""
        self._url = url
        answer: dict[str, Any] = self._server.run_command(
            "listen start", {**self._wish, "url": url, "secret": self.secret}
        )
        self._uuid, self.secret, self.account = answer["uuid"], answer["secret"], answer["account"]

    def test(self) -> Mapping[str, Any]:
        """Send a test delivery and return its result. Raise Problem from the server, or TransportError."""
        result: dict[str, Any] = self._server.run_command("listen test", {"uuid": self._uuid})
        return result

    def keep_alive(self) -> float:
        """Keep the subscription alive and return the seconds until the next call.

        Raise Stop (11) after failing too long.
        """
        try:
            self._renew()
        except (Problem, TransportError) as error:
            if is_final(error):
                raise
            return self._trouble.record_failure(error, _RETRY_DELAY_S)
        self._trouble.record_success()
        return _KEEP_ALIVE_S

    def stop(self) -> None:
        """End the subscription. If the server does not respond, it expires."""
        if self._uuid:
            try:
                self._server.run_command("listen stop", {"uuid": self._uuid})
            except (Problem, TransportError):
                self._ctx.trace("the server does not respond; the subscription will expire")

    def _renew(self) -> None:
        if self._trouble.is_failing:
            self._server.reconnect()
        try:
            self._server.run_command("listen keep", {"uuid": self._uuid})
        except Problem as problem:
            if problem.code != "not_found":
                raise
            self._ctx.warn("the subscription had expired; events since then were not delivered")
            self.start(self._url)
