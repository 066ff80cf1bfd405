"""The account of a credential."""

from typing import TYPE_CHECKING, cast

from docshare.client.http.retries import Call

if TYPE_CHECKING:
    from docshare.client.http.transport import Transport
    from docshare.client.types.account import Account


class AccountApi:
    """``client.account``."""

    def __init__(self, transport: "Transport") -> None:
        self._transport = transport

    def show(self) -> "Account":
        """Return the account and its plan (``GET /api/v1/user``). Problems: unauthorized, insufficient_scope."""
        return cast("Account", self._transport.json_object(Call("GET", "/user")))
