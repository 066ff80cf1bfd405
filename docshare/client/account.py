"""The account of a credential."""

from typing import TYPE_CHECKING, Any

from docshare.client.http.retries import Call

if TYPE_CHECKING:
    from docshare.client.http.transport import Transport


class AccountApi:
    """``client.account``."""

    def __init__(self, transport: "Transport") -> None:
        self._transport = transport

    def show(self) -> dict[str, Any]:
        """Return the account and its plan (``GET /api/v1/user``). Problems: unauthorized, insufficient_scope."""
        return self._transport.json_object(Call("GET", "/user"))
