"""The account of a credential."""

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from docshare.client.http.call import Call
from docshare.client.http.resource import Resource

if TYPE_CHECKING:
    from docshare.client.http.transport import Transport
    from docshare.client.types.account import Account


class AccountApi(Resource):
    """``client.account``.

    Example::

        print(client.account.show()["limits"]["activeFiles"])
    """

    def __init__(self, transport: "Transport", on_account: "Callable[[Account], None] | None" = None) -> None:
        super().__init__(transport)
        self._on_account = on_account

    def show(self) -> "Account":
        """Return the account and its plan (``GET /api/v1/user``). Problems: unauthorized, insufficient_scope."""
        account = cast("Account", self._transport.json_object(Call("GET", "/user")))
        if self._on_account is not None:
            self._on_account(account)
        return account
