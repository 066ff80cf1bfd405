"""The webhooks of an account: create, list, delete, test, enable.

Those of listeners on this machine stand in the same table, and are nobody's to see (see ``services.listeners``).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

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
from docshare.server.services.webhooks.send import AttemptOutcome, Receiver
from docshare.server.store.tables import Webhook


class WebhookRow(NamedTuple):
    """What the Webhook object is drawn from. Times in milliseconds; ``events`` is JSON as stored; ``file_uuid`` None:
    for all files of the account."""

    id: int
    uuid: str
    url: str
    events: str
    format: str
    created_at: int
    file_id: int | None
    file_uuid: str | None
    failure_count: int
    last_delivery_at: int | None
    last_status: int | None
    disabled_at: int | None


@dataclass(frozen=True)
class NewWebhook:
    """A new webhook with its ``secret``, which nobody can read again."""

    row: WebhookRow
    secret: str = field(repr=False)


_TEST_WAIT_S = TIMEOUT_MS / SECOND

_COLUMNS = ", ".join(f"w.{name}" for name in WebhookRow._fields).replace("w.file_uuid", "f.uuid")
_IS_OWNED = "w.account_id = ? AND w.listens_until IS NULL"
_SELECT_OWNED = f"SELECT {_COLUMNS} FROM webhooks w LEFT JOIN files f ON f.id = w.file_id WHERE {_IS_OWNED}"  # noqa: S608 - words
_LIST = f"{_SELECT_OWNED} ORDER BY w.id DESC"
_ONE = f"{_SELECT_OWNED} AND w.uuid = ?"
_COUNT = f"SELECT COUNT(*) FROM webhooks w WHERE {_IS_OWNED}"  # noqa: S608 - as above
_SELECT_SAMPLE_FILE = """
SELECT uuid, original_name FROM files WHERE owner_id = ? AND trashed_at IS NULL AND (? IS NULL OR id = ?)
ORDER BY id DESC LIMIT 1
"""


def create(rt: Runtime, caller: Caller, body: Mapping[str, Any]) -> NewWebhook:
    """Make a webhook of the caller's account as ``body`` says.

    Raises ``bad_request`` (malformed, an address that is not called, or 25 webhooks stand), ``not_found`` (a file that
    is not the caller's), ``unavailable`` (many such hosts are being looked up) and ``unauthorized`` (a key that was
    revoked meanwhile).
    """
    wish = rules.parse_create(body)
    destination.vet_target(rt, wish.url)  # what is wrong with the address itself is told before anything is looked up
    with rt.db.snapshot():
        _get_file_id(rt, caller, wish.file)
        _require_slot(rt, caller)
    target = destination.vet_registration(rt, wish.url)
    uuid, secret, now = rt.uuid(), SECRET_PREFIX + rt.secret(SECRET_HEX_CHARS // 2).hex(), rt.clock()
    sealed = rt.vault.seal(secret, uuid)
    with rt.db.write():
        # Again: looking the host up took its time.
        caller = recheck_caller(rt, caller)
        file_id = _get_file_id(rt, caller, wish.file)
        _require_slot(rt, caller)
        Webhook.create(
            uuid=uuid,
            account=caller.account_id,
            file=file_id,
            url=wish.url,
            peer=f"{target.bare_host}:{target.port}",
            format=wish.format,
            events=json.dumps(wish.events),
            secret=sealed,
            created_at=now,
        )
        return NewWebhook(get_owned(rt, caller, uuid), secret)


def list_webhooks(rt: Runtime, caller: Caller) -> list[WebhookRow]:
    """The caller's webhooks, newest first, disabled ones too."""
    return [WebhookRow._make(found) for found in rt.db.rows(_LIST, (caller.account_id,))]


def delete(rt: Runtime, caller: Caller, webhook: str) -> None:
    """Delete the caller's ``webhook`` (its UUID) with its deliveries, also those that wait. Raises ``not_found``."""
    row = get_owned(rt, caller, webhook)
    purge.delete_deliveries(rt, row.id)
    with rt.db.write():
        rt.db.execute("DELETE FROM webhooks WHERE id = ?", (row.id,))  # with what came in since
    rt.db.scrub()


def enable(rt: Runtime, caller: Caller, webhook: str) -> WebhookRow:
    """Let the caller's ``webhook`` (its UUID) get events again, its failures forgotten.

    Raises ``not_found``. What happened while it was disabled is not sent any more.
    """
    with rt.db.write():
        row = get_owned(rt, caller, webhook)
        rt.db.execute("UPDATE webhooks SET disabled_at = NULL, failure_count = 0 WHERE id = ?", (row.id,))
    return row._replace(disabled_at=None, failure_count=0)


def send_test(rt: Runtime, caller: Caller, webhook: str) -> AttemptOutcome:
    """Send a test event to the caller's ``webhook`` (its UUID) now, once, and wait for how that goes.

    Whatever file it is for and whether it is disabled does not matter, and nothing is counted. Raises ``not_found``,
    and ``unavailable`` while too many tests are running.
    """
    row = get_owned(rt, caller, webhook)
    sealed = rt.db.row("SELECT secret FROM webhooks WHERE id = ?", (row.id,))
    if sealed is None:
        raise webhook_not_found()
    receiver = Receiver(row.uuid, row.url, row.format, sealed[0], listens=False)
    return post_test_event(rt, receiver, caller.account_id, row.file_id)


def post_test_event(rt: Runtime, receiver: Receiver, account_id: int | None, file_id: int | None) -> AttemptOutcome:
    """Send a test event to ``receiver`` now, once. It tells of the file ``file_id``, or of the account's newest one.

    Raises ``unavailable`` where too many others are running for as long as a test may take.
    """
    file = rt.db.row(_SELECT_SAMPLE_FILE, (account_id, file_id, file_id))
    envelope = rules.build_test_event((file[0], file[1]) if file else None, rt.clock())
    body = json.dumps(envelope, ensure_ascii=False, separators=(",", ":"))
    with slots.hold_shared_slot(
        rt.outbound.trials, account_id, "Too many webhooks are being tested now.", wait_s=_TEST_WAIT_S
    ):
        return send.post_event(rt, receiver, event=TEST_KIND, body=body, delivery=rt.uuid(), attempt=1)


def get_owned(rt: Runtime, caller: Caller, webhook: str) -> WebhookRow:
    """The caller's webhook with that UUID, in either case. Raises ``not_found``, the same for unknown and foreign
    ones."""
    found = rt.db.row(_ONE, (caller.account_id, webhook.lower())) if is_uuid(webhook) else None
    if found is None:
        raise webhook_not_found()
    return WebhookRow._make(found)


def webhook_not_found() -> Problem:
    """The one answer for a webhook that is not there or not the caller's."""
    return Problem("not_found", "There is no such webhook.", hint="Check the id; GET /api/v1/webhooks lists yours.")


def _get_file_id(rt: Runtime, caller: Caller, name: str | None) -> int | None:
    return None if name is None else files.get_owned(rt, caller, name).id


def _require_slot(rt: Runtime, caller: Caller) -> None:
    found = rt.db.row(_COUNT, (caller.account_id,))
    rules.require_webhook_slot(found[0] if found else 0)
