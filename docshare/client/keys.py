"""The API keys of the account."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from docshare.client.http.call import Call
from docshare.client.http.recovery import send_once
from docshare.client.http.resource import Resource
from docshare.client.http.whole_body import JsonBody
from docshare.client.links import find_file_id

if TYPE_CHECKING:
    from docshare.client.types.account import ApiKey, NewApiKey

Row = dict[str, Any]


class KeysApi(Resource):
    """``client.keys``. All calls need a personal key; a restricted key or an app gets forbidden.

    Example::

        key = client.keys.create("ci", ["files:read"], file=link)
        print(key["key"])  # returned only here
    """

    def list(self) -> "list[ApiKey]":
        """Return the keys that were not revoked, newest first (``GET /keys``): ``{uuid, name, tail, scopes, fileUuid,
        createdAt, expiresAt, lastUsedAt}``; ``scopes`` only of restricted keys. Problems: forbidden."""
        return cast("list[ApiKey]", self._transport.json_rows(Call("GET", "/keys")))

    def create(
        self, name: str, scopes: Sequence[str], *, file: str | None = None, expires_at: str | None = None
    ) -> "NewApiKey":
        """Create a restricted key (``POST /keys``); the result has the ``key``, which is shown only now.

        Parameters:
            scopes: what the key may do, such as ``files:read``.
            file: UUID or short id of the only file that the key is for.
            expires_at: RFC 3339 instant from which on the key is rejected.

        If the response is lost, the key may exist, but nobody has it. The client then does not retry, but raises
        ``UnknownOutcome``. Problems: bad_request, forbidden, not_found (file).
        """
        sent: Row = {"name": name, "scopes": [*scopes]}
        if file is not None:
            sent["file"] = find_file_id(self._transport, file)
        if expires_at is not None:
            sent["expiresAt"] = expires_at
        call = Call("POST", "/keys", body=JsonBody(sent), is_repeatable=False)
        advice = "If the list of keys contains the key, revoke it before you try again."
        return cast("NewApiKey", send_once(self._transport, call, "the new key", advice))

    def revoke(self, uuid: str) -> None:
        """Revoke a key (``DELETE /keys/{uuid}``). Problems: forbidden, not_found."""
        self._transport.send_unless_done(Call("DELETE", f"/keys/{quote(uuid, safe='')}"))
