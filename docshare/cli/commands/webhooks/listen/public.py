"""Listen through a tunnel, with a temporary webhook of the account at the URL of the tunnel."""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.webhooks import listen_registry
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.polling import FailureTracker, is_final
from docshare.client.errors import Refused, TransportError
from docshare.contract.wire import format_instant

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.client import Client

_CHECK_INTERVAL_S = 60.0  # seconds between checks that the webhook exists and is active
_RETRY_DELAY_S = 2.0  # seconds; first delay while the server does not respond


class PublicWebhook:
    """A webhook at ``url``, the public end of a tunnel to the receiver.

    ``file`` is the UUID of the only file, or None. ``patience`` is the number of seconds that the server may fail.
    """

    def __init__(
        self,
        context: "Context",
        client: "Client",
        url: str,
        events: tuple[str, ...],
        file: str | None,
        patience: float,
    ) -> None:
        self._ctx = context
        self._client = client
        self._url = url
        self._events = events
        self._file = file
        self._trouble = FailureTracker(context, patience)
        self._poller = client.fork(retries=0)
        self._registration = ExitStack()
        self._uuid = ""
        self.secret = ""

    def start(self) -> None:
        """Create the webhook and record it. Raise Problem from the server, or Stop (14) if the secret was lost."""
        answer = self._client.webhooks.create(self._url, self._events, file=self._file)
        webhook: Mapping[str, Any] = answer["webhook"]
        self._uuid = str(webhook["uuid"])
        entry = {
            "uuid": self._uuid,
            "origin": self._client.origin,
            "profile": self._ctx.connection.profile.value,
            "url": self._url,
            "createdAt": webhook.get("createdAt") or format_instant(self._ctx.now()),
        }
        self._registration.enter_context(listen_registry.register(self._ctx, entry))
        if "secret" not in answer:
            raise Stop(ExitCode.UNKNOWN_OUTCOME, "the response with the secret of the webhook was lost; try again")
        self.secret = str(answer["secret"])

    def test(self) -> Mapping[str, Any]:
        """Send a test delivery and return its result. Raise Problem from the server, or TransportError."""
        return self._client.webhooks.test(self._uuid)

    def keep_alive(self) -> float:
        """Check that the webhook exists and is active, and return the seconds until the next check.

        Raise Stop (11) if it does not or is not, or after failing too long.
        """
        try:
            rows = self._poller.webhooks.list()
        except (Refused, TransportError) as error:
            if is_final(error):
                raise
            return self._trouble.record_failure(error, _RETRY_DELAY_S)
        self._trouble.record_success()
        own = next((row for row in rows if row.get("uuid") == self._uuid), None)
        if own is None:
            raise Stop(ExitCode.UNREACHABLE, "the webhook was deleted; no more deliveries will arrive")
        if own.get("active") is False:
            raise Stop(ExitCode.UNREACHABLE, "the server disabled the webhook because too many deliveries failed")
        return _CHECK_INTERVAL_S

    def stop(self) -> None:
        """Delete the webhook. If that fails, it stays recorded for ``webhooks prune``."""
        with self._registration:
            if self._uuid:
                self._delete()

    def _delete(self) -> None:
        try:
            self._client.webhooks.delete(self._uuid)
        except Refused as refusal:
            if refusal.status != 404:
                self._warn_not_deleted(str(refusal))
                return
        except TransportError as error:
            self._warn_not_deleted(str(error))
            return
        listen_registry.remove(self._ctx, self._uuid)

    def _warn_not_deleted(self, why: str) -> None:
        self._ctx.warn(f"webhook {self._uuid} could not be deleted ({why}); delete it with: docshare webhooks prune")
