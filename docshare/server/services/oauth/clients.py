"""Registered OAuth clients, as the operator manages them."""

import hmac
import json
from typing import Any, NamedTuple

from docshare.contract.problems import Problem
from docshare.contract.wire import drop_none, format_instant
from docshare.server.rules import oauth as rules
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import digest

_ID_CHARS = 20
_SECRET_CHARS = 43  # base62: 256 bits
_COLUMNS = "id, client_id, name, redirect_uris, secret_digest, created_at"
_ONE = f"SELECT {_COLUMNS} FROM oauth_clients WHERE client_id = ?"  # noqa: S608 - columns from above
_ALL = f"SELECT {_COLUMNS} FROM oauth_clients ORDER BY id"  # noqa: S608 - columns from above
_ADD = "INSERT INTO oauth_clients (client_id, name, redirect_uris, secret_digest, created_at) VALUES (?, ?, ?, ?, ?)"


class RegisteredClient(NamedTuple):
    """A registered app. ``redirect_uris`` JSON as stored; ``secret_digest`` None for a public one."""

    id: int
    client_id: str
    name: str
    redirect_uris: str
    secret_digest: str | None
    created_at: int

    @property
    def redirects(self) -> list[str]:
        """The redirect addresses it is registered with."""
        found: list[str] = json.loads(self.redirect_uris)
        return found

    @property
    def public(self) -> bool:
        """Whether it has no secret."""
        return self.secret_digest is None

    def redirects_to(self, uri: str) -> bool:
        """Whether it may be answered at ``uri``."""
        return rules.is_registered_redirect(self.redirects, uri)

    def knows(self, secret: str) -> bool:
        """Whether ``secret`` is its own."""
        known = self.secret_digest or ""
        return bool(known) and hmac.compare_digest(digest(secret).encode(), known.encode())


def find(rt: Runtime, client_id: str) -> RegisteredClient | None:
    """The client ``client_id``, or None."""
    found = rt.db.row(_ONE, (client_id,))
    return RegisteredClient._make(found) if found else None


def create(rt: Runtime, name: str, redirect_uris: list[str], *, public: bool) -> dict[str, Any]:
    """Register a client; returns its description with ``clientSecret``, shown this once, unless it is ``public``.

    Raises ``bad_request`` for what cannot be redirected to, or a name that no consent page could show.
    """
    name, redirects = rules.require_client_name(name), rules.require_redirect_uris(redirect_uris)
    client_id, secret = rt.token(_ID_CHARS), None if public else rt.token(_SECRET_CHARS)
    stored = None if secret is None else digest(secret)
    with rt.db.write():
        rt.db.execute(_ADD, (client_id, name, json.dumps(redirects), stored, rt.clock()))
    return {**describe(_get_client(rt, client_id)), **drop_none({"clientSecret": secret})}


def list_clients(rt: Runtime) -> list[dict[str, Any]]:
    """All clients, oldest first."""
    return [describe(RegisteredClient._make(found)) for found in rt.db.rows(_ALL)]


def remove(rt: Runtime, client_id: str) -> dict[str, Any]:
    """Remove a client with everything that was granted to it; returns what it was. Raises ``not_found``."""
    with rt.db.write():
        client = _get_client(rt, client_id)
        rt.db.execute("DELETE FROM oauth_clients WHERE id = ?", (client.id,))
    return describe(client)


def describe(client: RegisteredClient) -> dict[str, Any]:
    """``{clientId, name, redirectUris, public, createdAt}``."""
    return {
        "clientId": client.client_id,
        "name": client.name,
        "redirectUris": client.redirects,
        "public": client.public,
        "createdAt": format_instant(client.created_at),
    }


def _get_client(rt: Runtime, client_id: str) -> RegisteredClient:
    client = find(rt, client_id)
    if client is None:
        raise Problem("not_found", f"There is no client '{client_id}'.", hint="List them: docshare admin client list")
    return client
