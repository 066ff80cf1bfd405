"""Create, list, delete, test and enable the webhooks of an account.

Listeners on this machine share the table, but no account sees them (see ``services.events.listeners``).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from docshare.contract.fields import is_uuid
from docshare.contract.limits import SECOND
from docshare.contract.problems import Problem
from docshare.contract.webhooks import SECRET_HEX_CHARS, SECRET_PREFIX, TEST_KIND, TIMEOUT_MS
from docshare.server.rules import webhooks as rules
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller, recheck_caller
from docshare.server.services.files import files, purge
from docshare.server.services.operations import slots
from docshare.server.services.webhooks import destination, send
from docshare.server.services.webhooks.send import AttemptOutcome
from docshare.server.store.tables import library
from docshare.server.store.tables import webhooks as table
from docshare.server.store.tables.webhooks import Receiver
from docshare.server.store.tables.webhooks import WebhookRow as WebhookRow


@dataclass(frozen=True)
class NewWebhook:
    """A new webhook with its ``secret``, which is shown only once."""

    row: WebhookRow
    secret: str = field(repr=False)


_SLOT_WAIT_S = TIMEOUT_MS / SECOND  # the maximum time that another test holds a slot


def create(rt: Runtime, caller: Caller, body: Mapping[str, Any]) -> NewWebhook:
    """Create a webhook of the caller's account from the request body.

    Raises ``bad_request`` (malformed body, forbidden address, or the account has 25 webhooks), ``not_found`` (the file
    is not the caller's), ``unavailable`` (too many hosts are being looked up) and ``unauthorized`` (the key was revoked
    meanwhile).
    """
    fields = rules.parse_create(body)
    destination.vet_target(rt, fields.url)  # report errors of the URL itself before any lookup
    with rt.db.snapshot():
        _get_file_id(rt, caller, fields.file)
        _require_slot(rt, caller)
    target = destination.vet_registration(rt, fields.url, caller.account_id)
    uuid, secret, now = rt.random_uuid(), SECRET_PREFIX + rt.random_bytes(SECRET_HEX_CHARS // 2).hex(), rt.clock()
    with rt.db.write(caller.account_id):
        # The lookup took time, so everything is checked again.
        caller = recheck_caller(rt, caller)
        file_id = _get_file_id(rt, caller, fields.file)
        _require_slot(rt, caller)
        table.insert(
            rt.db,
            uuid,
            caller.account_id,
            file_id=file_id,
            url=str(fields.url),
            peer=f"{target.bare_host}:{target.port}",
            format=fields.format,
            events=json.dumps(fields.events),
            secret=rt.vault.seal(secret, uuid),  # a rotation of the master key waits for this transaction
            now=now,
        )
        return NewWebhook(get_owned(rt, caller, uuid), secret)


def list_webhooks(rt: Runtime, caller: Caller) -> list[WebhookRow]:
    """Return the caller's webhooks, newest first, including disabled ones."""
    return table.list_owned(rt.db, caller.account_id)


def delete(rt: Runtime, caller: Caller, webhook: str) -> None:
    """Delete the caller's ``webhook`` (its UUID) with its deliveries, including queued ones. Raises ``not_found``."""
    row = get_owned(rt, caller, webhook)
    purge.delete_deliveries(rt, row.id)
    with rt.db.write():
        table.delete(rt.db, row.id)  # also deletes deliveries that were queued meanwhile
    rt.db.truncate_wal()


def enable(rt: Runtime, caller: Caller, webhook: str) -> WebhookRow:
    """Enable the caller's ``webhook`` (its UUID) and reset its failures.

    Raises ``not_found``. Events that happened while it was disabled are not sent.
    """
    with rt.db.write(caller.account_id):
        row = get_owned(rt, caller, webhook)
        table.enable(rt.db, row.id)
    return row._replace(disabled_at=None, failure_count=0)


def send_test(rt: Runtime, caller: Caller, webhook: str) -> AttemptOutcome:
    """Send a test event to the caller's ``webhook`` (its UUID) once, and wait for the outcome.

    Disabled webhooks are tested too, and the attempt is not counted. Raises ``not_found``, and ``unavailable`` while
    too many tests are running.
    """
    row = get_owned(rt, caller, webhook)
    sealed = table.find_secret(rt.db, row.id)
    if sealed is None:
        raise webhook_not_found()
    receiver = Receiver(row.uuid, row.url, row.format, sealed, is_listener=False)
    return post_test_event(rt, receiver, caller.account_id, row.file_id)


def post_test_event(rt: Runtime, receiver: Receiver, account_id: int | None, file_id: int | None) -> AttemptOutcome:
    """Send a test event to ``receiver`` once. It describes the file ``file_id``, or the newest file of the account.

    Waits for a slot for as long as a test may take. Raises ``unavailable`` if none becomes free.
    """
    envelope = rules.build_test_event(library.find_newest_name(rt.db, account_id, file_id), rt.clock())
    body = json.dumps(envelope, ensure_ascii=False, separators=(",", ":"))
    with slots.hold_slot(
        rt.outbound.webhook_slots, account_id, "Too many webhooks are being tested.", wait_s=_SLOT_WAIT_S
    ):
        return send.post_event(rt, receiver, event=TEST_KIND, body=body, delivery=rt.random_uuid(), attempt=1)


def get_owned(rt: Runtime, caller: Caller, webhook: str) -> WebhookRow:
    """Return the caller's webhook with that UUID, in upper or lower case. Raises ``not_found``, the same for unknown
    and foreign ones."""
    found = table.find_owned(rt.db, caller.account_id, webhook.lower()) if is_uuid(webhook) else None
    if found is None:
        raise webhook_not_found()
    return found


def webhook_not_found() -> Problem:
    """Return the one error for a webhook that does not exist or is not the caller's."""
    return Problem("not_found", "There is no such webhook.", hint="Check the id; GET /api/v1/webhooks lists yours.")


def _get_file_id(rt: Runtime, caller: Caller, name: str | None) -> int | None:
    return None if name is None else files.get_owned(rt, caller, name).id


def _require_slot(rt: Runtime, caller: Caller) -> None:
    rules.require_webhook_slot(table.count_owned(rt.db, caller.account_id))
