"""The account behind a credential (section Account record)."""

from typing import TYPE_CHECKING, Any

from docshare.client.retries import Call

if TYPE_CHECKING:
    from docshare.client.transport import Transport


class Account:
    """``client.account``."""

    def __init__(self, transport: "Transport") -> None:
        self._transport = transport

    def show(self) -> dict[str, Any]:
        """``GET /api/v1/user``: the account and its plan, as sent. Problems: unauthorized, insufficient_scope."""
        return self._transport.json_object(Call("GET", "/user"))
