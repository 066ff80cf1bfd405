"""Register, list and remove OAuth clients, as the operator manages them."""

import hmac
import json
from typing import Any

from docshare.contract.problems import Problem
from docshare.contract.wire import drop_none, format_instant
from docshare.server.rules import oauth as rules
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import digest
from docshare.server.store.tables import oauth
from docshare.server.store.tables.oauth import ClientRow

_ID_CHARS = 20
_SECRET_CHARS = 43  # base62: 256 bits


class RegisteredClient(ClientRow):
    """A registered app, with the checks of the OAuth protocol."""

    @property
    def redirect_list(self) -> list[str]:
        """Return the registered redirect URIs."""
        found: list[str] = json.loads(self.redirect_uris)
        return found

    @property
    def is_public(self) -> bool:
        """Return whether the client has no secret."""
        return self.secret_digest is None

    def is_redirect_allowed(self, uri: str) -> bool:
        """Return whether the server may redirect the browser to ``uri``."""
        return rules.is_registered_redirect(self.redirect_list, uri)

    def is_secret(self, secret: str) -> bool:
        """Return whether ``secret`` is the client's secret."""
        known = self.secret_digest or ""
        return bool(known) and hmac.compare_digest(digest(secret).encode(), known.encode())


def find(rt: Runtime, client_id: str) -> RegisteredClient | None:
    """Return the client ``client_id``, or None."""
    found = oauth.find_client(rt.db, client_id)
    return RegisteredClient._make(found) if found else None


def create(rt: Runtime, name: str, redirect_uris: list[str], *, public: bool) -> dict[str, Any]:
    """Register a client; return its description with ``clientSecret``, shown this once, unless it is ``public``.

    Raises ``bad_request`` for an invalid redirect URI, or a name that the consent page cannot show.
    """
    name, redirects = rules.require_client_name(name), rules.require_redirect_uris(redirect_uris)
    client_id, secret = rt.random_token(_ID_CHARS), None if public else rt.random_token(_SECRET_CHARS)
    stored = None if secret is None else digest(secret)
    with rt.db.write():
        oauth.insert_client(rt.db, client_id, name, json.dumps(redirects), stored, rt.clock())
    return {**describe(_get_client(rt, client_id)), **drop_none({"clientSecret": secret})}


def list_clients(rt: Runtime) -> list[dict[str, Any]]:
    """Return the descriptions of all clients, oldest first."""
    return [describe(RegisteredClient._make(found)) for found in oauth.list_clients(rt.db)]


def remove(rt: Runtime, client_id: str) -> dict[str, Any]:
    """Delete a client with everything that was granted to it; return its description. Raises ``not_found``."""
    with rt.db.write():
        client = _get_client(rt, client_id)
        oauth.delete_client(rt.db, client.id)
    return describe(client)


def describe(client: RegisteredClient) -> dict[str, Any]:
    """Return ``{clientId, name, redirectUris, public, createdAt}``."""
    return {
        "clientId": client.client_id,
        "name": client.name,
        "redirectUris": client.redirect_list,
        "public": client.is_public,
        "createdAt": format_instant(client.created_at),
    }


def _get_client(rt: Runtime, client_id: str) -> RegisteredClient:
    client = find(rt, client_id)
    if client is None:
        raise Problem("not_found", f"There is no client '{client_id}'.", hint="List them: docshare admin client list")
    return client
