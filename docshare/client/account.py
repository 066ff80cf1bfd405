"""The account of a credential."""

from typing import TYPE_CHECKING, cast

from docshare.client.http.call import Call
from docshare.client.http.resource import Resource

if TYPE_CHECKING:
    from docshare.client.types.account import Account


class AccountApi(Resource):
    """``client.account``.

    Example::

        print(client.account.show()["limits"]["activeFiles"])
    """

    def show(self) -> "Account":
        """Return the account and its plan (``GET /api/v1/user``). Problems: unauthorized, insufficient_scope."""
        return cast("Account", self._transport.json_object(Call("GET", "/user")))
