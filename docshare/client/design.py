"""The lane of the design tool (section Design-tool lane): the client's credential is a user token of it, a JWT."""

from typing import TYPE_CHECKING, Any

from docshare.client.imports import fetched
from docshare.client.json_body import JsonBody
from docshare.client.retries import Call
from docshare.contract.wire import present

if TYPE_CHECKING:
    from docshare.client.transport import Transport

_IMPORT = "/design-tool/import"
_STATUS = "/design-tool/design/status"
_LOOK = "Ask for the status of the design before you try again."


class Design:
    """``client.design``."""

    def __init__(self, transport: "Transport") -> None:
        self._transport = transport

    def publish(self, url: str, name: str | None = None, *, design_token: str | None = None) -> dict[str, Any]:
        """``POST /design-tool/import``: share a design without an account, or put it behind the link that the same user
        has for it; the import result with ``claimToken`` and ``manageToken``, shown this once.

        Parameters: ``url`` and ``name`` as in ``imports.create``; ``design_token`` which design it is. Raises as that
        does; problems besides: unauthorized, forbidden (claimed, frozen, updates off), rate_limited (the day's budget).
        """
        body = {"url": url, "filename": name, "designToken": design_token}
        return fetched(self._transport, _IMPORT, present(body), _LOOK)

    def status(self, design_token: str, *, access_token: str | None = None) -> dict[str, Any]:
        """``POST /design-tool/design/status``: what became of the design; ``access_token`` an API key or access token
        that shows whether the link belongs to that account. Problems: unauthorized, unavailable.
        """
        body = {"designToken": design_token, "accessToken": access_token}
        return self._transport.json_object(Call("POST", _STATUS, body=JsonBody(present(body))))
