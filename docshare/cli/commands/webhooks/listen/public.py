"""Listening through a tunnel: a webhook of the account for as long as this runs, at an address that leads here."""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.webhooks import listen_registry
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.polling import FailureTracker, is_final
from docshare.client.errors import Refused, TransportError
from docshare.contract.wire import instant

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.client import Client

_CHECK_INTERVAL_S = 60.0  # seconds between two looks whether the webhook is still there and active
_RETRY_DELAY_S = 2.0  # seconds, at first, while the server does not answer


class PublicWebhook:
    """A webhook at ``url``, which a tunnel leads to our receiver.

    Parameters: ``events`` its kinds; ``file`` the UUID of the only file, or None; ``patience`` seconds of failure of
    the server that are borne.
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
        self._held = ExitStack()
        self._uuid = ""
        self.secret = ""

    def start(self) -> None:
        """Make the webhook and note it. Raises Problem as the server does, Stop (14) where its secret got lost."""
        answer = self._client.webhooks.create(self._url, self._events, file=self._file)
        webhook: dict[str, Any] = answer["webhook"]
        self._uuid = str(webhook["uuid"])
        entry = {
            "uuid": self._uuid,
            "origin": self._client.origin,
            "profile": self._ctx.connection.profile.value,
            "url": self._url,
            "createdAt": webhook.get("createdAt") or instant(self._ctx.now()),
        }
        self._held.enter_context(listen_registry.register(self._ctx, entry))
        if "secret" not in answer:
            raise Stop(ExitCode.UNKNOWN_OUTCOME, "the answer with the secret of the webhook was lost; try again")
        self.secret = str(answer["secret"])

    def test(self) -> Mapping[str, Any]:
        """Have a test delivery sent; how that went. Raises Problem as the server does, TransportError."""
        return self._client.webhooks.test(self._uuid)

    def pulse(self) -> float:
        """See that the webhook is there and active; returns the seconds until this is due again. Stop (11) if it is
        not, or after long failure."""
        try:
            rows = self._poller.webhooks.list()
        except (Refused, TransportError) as error:
            if is_final(error):
                raise
            return self._trouble.after(error, _RETRY_DELAY_S)
        self._trouble.over()
        mine = next((row for row in rows if row.get("uuid") == self._uuid), None)
        if mine is None:
            raise Stop(ExitCode.UNREACHABLE, "somebody deleted the webhook: nothing arrives any more")
        if mine.get("active") is False:
            raise Stop(ExitCode.UNREACHABLE, "the server disabled the webhook: too many deliveries failed")
        return _CHECK_INTERVAL_S

    def stop(self) -> None:
        """Delete the webhook. One that cannot be deleted stays noted for ``webhooks prune``."""
        with self._held:
            if self._uuid:
                self._delete()

    def _delete(self) -> None:
        try:
            self._client.webhooks.delete(self._uuid)
        except Refused as refusal:
            if refusal.status != 404:
                self._complain(str(refusal))
                return
        except TransportError as error:
            self._complain(str(error))
            return
        listen_registry.remove(self._ctx, self._uuid)

    def _complain(self, why: str) -> None:
        self._ctx.warn(f"the webhook {self._uuid} is still there ({why}); remove it with: docshare webhooks prune")
