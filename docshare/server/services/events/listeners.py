"""Listeners: programs on this machine that receive events as long as they renew their registration.

A listener is stored as a webhook with an expiry, so it gets the same envelopes, signatures and retries as any
receiver. It is not listed and does not count against the account's webhook limit.
"""

import ipaddress
import json
from dataclasses import dataclass
from typing import Any

from docshare.contract.limits import SECOND
from docshare.contract.problems import Problem
from docshare.contract.webhooks import DEFAULT_FORMAT, KINDS, SECRET_HEX_CHARS, SECRET_PREFIX, parse_event_kinds
from docshare.contract.wire import format_instant
from docshare.server.outbound.targets import OutboundTarget, parse_target
from docshare.server.runtime import Runtime
from docshare.server.services.accounts import accounts
from docshare.server.services.files import files, purge
from docshare.server.services.webhooks import webhooks
from docshare.server.services.webhooks.send import AttemptOutcome
from docshare.server.store.identity import directory_id
from docshare.server.store.tables import Account, library
from docshare.server.store.tables import accounts as account_rows
from docshare.server.store.tables import webhooks as table
from docshare.server.store.tables.webhooks import Receiver

LISTENER_TIMEOUT_MS = 60 * SECOND  # a listener expires this long after its last renewal

_MAX_SECRET_CHARS = 200


@dataclass(frozen=True)
class ListenerInput:
    """The parameters of a listener.

    ``url`` on this machine; ``events`` kinds separated by commas, empty for all nine; ``file`` a UUID or short id,
    empty for all; ``account`` a UUID, empty for the owner of the instance; ``secret`` to sign with, empty for a new
    one.
    """

    url: str
    events: str = ""
    file: str = ""
    account: str = ""
    secret: str = ""


def start(rt: Runtime, listener: ListenerInput) -> dict[str, Any]:
    """Register a listener; return ``{uuid, secret, account, events, until}``, where ``account`` is the email address.

    Raises Problem: ``bad_request`` for an address on another machine, an unknown kind or an invalid secret,
    ``not_found`` for an unknown account or a file of another account.
    """
    target = _parse_loopback_url(listener.url)
    kinds = parse_event_kinds("events", listener.events.split(",") if listener.events else list(KINDS))
    secret = _resolve_secret(rt, listener.secret)
    account = _get_account(rt, listener.account)
    uuid, now = rt.random_uuid(), rt.clock()
    with rt.db.write():
        table.insert(
            rt.db,
            uuid,
            account.id,
            file_id=_find_file_id(rt, account, listener.file),
            url=listener.url,
            peer=f"{target.bare_host}:{target.port}",
            format=DEFAULT_FORMAT,
            events=json.dumps(kinds),
            secret=rt.vault.seal(secret, uuid),
            now=now,
            listens_until=now + LISTENER_TIMEOUT_MS,
            listens_on=directory_id(rt.config.data_dir),
        )
    return {
        "uuid": uuid,
        "secret": secret,
        "account": account.email,
        "events": kinds,
        "until": format_instant(now + LISTENER_TIMEOUT_MS),
    }


def renew(rt: Runtime, uuid: str) -> dict[str, Any]:
    """Renew the listener ``uuid``; return ``{uuid, until}``. Raises ``not_found`` if it has expired."""
    now = rt.clock()
    with rt.db.write():
        changed = table.renew_listener(rt.db, uuid, now + LISTENER_TIMEOUT_MS, now)
    if not changed:
        raise _listener_not_found()
    return {"uuid": uuid, "until": format_instant(now + LISTENER_TIMEOUT_MS)}


def send_test(rt: Runtime, uuid: str) -> AttemptOutcome:
    """Send one test event to the listener ``uuid`` and wait for the result.

    Raises ``not_found``, ``unavailable`` while too many tests are running.
    """
    found = table.find_listener(rt.db, uuid, rt.clock())
    if found is None:
        raise _listener_not_found()
    account_id, file_id, url, format, secret = found
    return webhooks.post_test_event(rt, Receiver(uuid, url, format, secret, is_listener=True), account_id, file_id)


def stop(rt: Runtime, uuid: str) -> dict[str, Any]:
    """Delete the listener ``uuid`` with its queued deliveries. Does nothing if it does not exist."""
    _delete_listeners(rt, table.list_listener_ids(rt.db, uuid))
    return {"uuid": uuid}


def delete_expired(rt: Runtime) -> int:
    """Delete the expired listeners with their queued deliveries. Return the number of listeners."""
    return _delete_listeners(rt, table.list_expired_listener_ids(rt.db, rt.clock()))


def _delete_listeners(rt: Runtime, webhook_ids: list[int]) -> int:
    for webhook_id in webhook_ids:
        purge.delete_deliveries(rt, webhook_id)
        with rt.db.write():
            table.delete(rt.db, webhook_id)  # also deletes deliveries that were queued in the meantime
    return len(webhook_ids)


def _listener_not_found() -> Problem:
    return Problem("not_found", "This listener no longer exists.")


def _parse_loopback_url(url: str) -> OutboundTarget:
    """Parse ``url``, which must name this machine by IP address: a host name could later resolve to another machine."""
    refusal = Problem(
        "bad_request", "A listener requires an http address of this machine, such as http://127.0.0.1:4000/."
    )
    try:
        target = parse_target(url)
        loopback = ipaddress.ip_address(target.host).is_loopback
    except ValueError:
        raise refusal from None
    if target.scheme != "http" or not loopback:
        raise refusal
    return target


def _resolve_secret(rt: Runtime, secret: str) -> str:
    if not secret:
        return SECRET_PREFIX + rt.random_bytes(SECRET_HEX_CHARS // 2).hex()
    if len(secret) > _MAX_SECRET_CHARS or not secret.isprintable():
        raise Problem("bad_request", f"secret must be one line of at most {_MAX_SECRET_CHARS} characters.")
    return secret


def _get_account(rt: Runtime, uuid: str) -> Account:
    if not uuid:
        return accounts.get_owner(rt)
    account = account_rows.find_by_uuid(rt.db, uuid.lower())
    if account is None:
        raise Problem("not_found", f"There is no account '{uuid}' on this server.")
    return account


def _find_file_id(rt: Runtime, account: Account, name: str) -> int | None:
    if not name:
        return None
    key = files.lookup_key(name)
    found = key and library.find_active_id(rt.db, account.id, *key)
    if not found:
        raise files.file_not_found()
    return found
