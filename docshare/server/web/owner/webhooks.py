"""The pages of webhooks: list, create, test, enable, and delete them, and show and redeliver their deliveries."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from flask import Blueprint, Response, request
from werkzeug.wrappers import Response as AnyResponse

from docshare.contract.fields import is_uuid
from docshare.contract.limits import SESSION_WEBHOOK_TEST
from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.contract.webhooks import DEFAULT_FORMAT, DISABLE_AFTER, FORMATS, KINDS, WEBHOOKS_PER_ACCOUNT, name_kind
from docshare.report import words
from docshare.server.http.views import client_address, current_runtime
from docshare.server.rate_limits import network_prefix
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.files import files
from docshare.server.services.operations import slots
from docshare.server.services.webhooks import deliveries, webhooks
from docshare.server.services.webhooks.deliveries import AttemptRow, DeliveryRow
from docshare.server.services.webhooks.webhooks import NewWebhook, WebhookRow
from docshare.server.web.owner.form_errors import locate_errors
from docshare.server.web.owner.frame import (
    SignedInOwner,
    owner_form,
    owner_page,
    redirect_with_message,
    render_owner_page,
    resumable_form,
)

blueprint = Blueprint("owner_webhooks", __name__)

_PATH = "/webhooks"
_FORMAT_LABELS = {"json": "JSON, signed", "slack": "A Slack message"}
_MAX_FILES = 200  # offered for a webhook of one file; any other can be selected by the URL
_LOG_LENGTH = 100
_CONTROLS = {
    "url": ("url", "URL"),
    "events": ("events", "Events"),
    "fileUuid": ("file", "Files"),
    "format": ("format", "Format"),
}


@dataclass(frozen=True)
class WebhookEntry:
    """A webhook as text.

    ``file``: the name of the only file it receives events of, or empty; ``last``: the result of its last delivery.
    """

    uuid: str
    url: str
    kinds: list[str]
    format: str
    file: str
    created: str
    active: bool
    disabled: str
    failures: int
    last: str


@dataclass(frozen=True)
class DeliveryEntry:
    """A delivery as text. ``due``: the time of its next attempt, empty if there is none; ``can_redeliver``: whether the
    page offers to redeliver it."""

    id: int
    event: str
    created: str
    state: str
    due: str
    can_redeliver: bool
    attempts: list[str]


@blueprint.get(_PATH)
@owner_page
def index(owner: SignedInOwner) -> AnyResponse:
    """List all webhooks, with the form for a new one; ``?file=UUID`` preselects a file."""
    return _render_list(owner, typed={"fileUuid": request.args.get("file", "")})


def _refill(owner: SignedInOwner, problem: Problem) -> AnyResponse:
    return _render_list(owner, problem, typed=_read_body())


@blueprint.post(_PATH)
@resumable_form(_refill)
def create(owner: SignedInOwner) -> AnyResponse:
    """Create a webhook. Only this response shows its secret."""
    body = _read_body()
    try:
        webhook = webhooks.create(current_runtime(), owner.caller, body)
    except Problem as problem:
        return _render_list(owner, problem, typed=body)
    return _render_list(owner, made=webhook)


@blueprint.get("/webhooks/<uuid>")
@owner_page
def show(owner: SignedInOwner, uuid: str) -> AnyResponse:
    """Show one webhook with its deliveries. 404 for a webhook of another account."""
    row = webhooks.get_owned(current_runtime(), owner.caller, uuid)
    log = deliveries.fetch_page(current_runtime(), owner.caller, uuid, since=0, limit=_LOG_LENGTH)
    sent = [_build_delivery_entry(found, active=row.disabled_at is None) for found in log]
    hook = _build_webhook_entry(row, _find_file_name(owner.caller, row.file_uuid))
    return render_owner_page(
        owner, "webhook.html", "webhooks", hook=hook, sent=sent, logged=_LOG_LENGTH, disable_after=DISABLE_AFTER
    )


@blueprint.post("/webhooks/<uuid>/test")
@owner_form
def test(owner: SignedInOwner, uuid: str) -> AnyResponse:
    """Send a test event and report the result. It counts against the same limit as tests through the API."""
    counted = (SESSION_WEBHOOK_TEST, network_prefix(client_address()), SESSION_WEBHOOK_TEST.limit)
    allowance = current_runtime().limits.hit(*counted)
    if not allowance.is_allowed:
        detail = f"More than {allowance.limit} tests in a minute."
        raise Problem(
            "rate_limited", detail, headers={"Retry-After": str(allowance.reset_s)}, extra={"reason": "tests"}
        )
    try:
        outcome = webhooks.send_test(current_runtime(), owner.caller, uuid)
    except Problem as problem:
        if slots.is_full(problem):
            current_runtime().limits.refund(*counted)
        raise
    if outcome.is_delivered:
        return redirect_with_message(_webhook_path(uuid), f"Delivered {outcome.status} in {outcome.latency_ms} ms.")
    return redirect_with_message(_webhook_path(uuid), f"Not delivered, after {outcome.latency_ms} ms. {outcome.error}")


@blueprint.post("/webhooks/<uuid>/enable")
@owner_form
def enable(owner: SignedInOwner, uuid: str) -> AnyResponse:
    """Enable a disabled webhook again."""
    webhooks.enable(current_runtime(), owner.caller, uuid)
    return redirect_with_message(
        _webhook_path(uuid), "The webhook receives events again. Events that happened in the meantime are not sent."
    )


@blueprint.post("/webhooks/<uuid>/delete")
@owner_form
def delete(owner: SignedInOwner, uuid: str) -> AnyResponse:
    """Delete a webhook with its log and its queued deliveries."""
    webhooks.delete(current_runtime(), owner.caller, uuid)
    return redirect_with_message(_PATH, "The webhook is deleted.")


@blueprint.post("/webhooks/<uuid>/deliveries/<delivery>/redeliver")
@owner_form
def redeliver(owner: SignedInOwner, uuid: str, delivery: str) -> AnyResponse:
    """Redeliver one delivery, with up to five attempts."""
    deliveries.redeliver(current_runtime(), owner.caller, uuid, delivery)
    return redirect_with_message(_webhook_path(uuid), f"Delivery {delivery} is queued again.")


def _render_list(
    owner: SignedInOwner,
    problem: Problem | None = None,
    *,
    typed: Mapping[str, Any] | None = None,
    made: NewWebhook | None = None,
) -> Response:
    """Render the list.

    Parameters: ``problem`` why the form was rejected; ``typed`` its values; ``made`` the webhook just created.
    """
    typed = typed or {}
    names = _list_file_names(owner.caller, typed.get("fileUuid"))
    rows = webhooks.list_webhooks(current_runtime(), owner.caller)
    return render_owner_page(
        owner,
        "webhooks.html",
        "webhooks",
        status=problem.status if problem else 200,
        problem=problem,
        errors=locate_errors(problem, _CONTROLS),
        made=made,
        typed=typed,
        open=problem is not None or bool(typed.get("fileUuid")) or not rows,
        hooks=[
            _build_webhook_entry(row, names.get(row.file_uuid or "") or _find_file_name(owner.caller, row.file_uuid))
            for row in rows
        ],
        files=names,
        kinds=_describe_kinds(owner.caller.plan),
        formats={name: _FORMAT_LABELS[name] for name in FORMATS},
        format=typed.get("format", DEFAULT_FORMAT),
        most=WEBHOOKS_PER_ACCOUNT,
        disable_after=DISABLE_AFTER,
    )


def _read_body() -> dict[str, Any]:
    """Return the form values as a body of the API."""
    file = request.form.get("file", "")
    body = {
        "url": request.form.get("url", ""),
        "events": request.form.getlist("events"),
        "format": request.form.get("format", DEFAULT_FORMAT),
    }
    return body | ({"fileUuid": file} if file else {})


def _describe_kinds(plan: Plan) -> dict[str, tuple[str, str]]:
    """Return the name of each kind for people, and when it fires with what else it requires of an owner on ``plan``."""
    return {
        name: (
            kind.title,
            f"When {kind.trigger_text}." + (f" Needs {kind.plan.tier.title()}." if kind.plan > plan else ""),
        )
        for name, kind in KINDS.items()
    }


def _list_file_names(caller: Caller, wanted: object) -> dict[str, str]:
    """Return the names of the newest files and of the ``wanted`` one, by UUID."""
    found = {row.uuid: row.original_name for row in islice(files.list_files(current_runtime(), caller), _MAX_FILES)}
    # A forged URL must not put text on this page.
    if isinstance(wanted, str) and is_uuid(wanted) and wanted not in found:
        found |= {wanted: _find_file_name(caller, wanted)}
    return found


def _find_file_name(caller: Caller, file: str | None) -> str:
    """Return the name of a file: its UUID if it is in the trash; empty for None."""
    if file is None:
        return ""
    try:
        return files.get_owned(current_runtime(), caller, file).original_name
    except Problem:
        return file


def _build_webhook_entry(row: WebhookRow, file: str) -> WebhookEntry:
    last = ""
    if row.last_delivery_at is not None:
        answer = f"status {row.last_status}" if row.last_status else "no response"
        last = f"{answer} on {words.format_date_time(row.last_delivery_at)} UTC"
    return WebhookEntry(
        uuid=row.uuid,
        url=row.url,
        kinds=[name_kind(kind) for kind in json.loads(row.events)],
        format=_FORMAT_LABELS[row.format],
        file=file,
        created=words.format_date(row.created_at),
        active=row.disabled_at is None,
        disabled="" if row.disabled_at is None else words.format_date(row.disabled_at),
        failures=row.failure_count,
        last=last,
    )


def _build_delivery_entry(row: DeliveryRow, *, active: bool) -> DeliveryEntry:
    return DeliveryEntry(
        id=row.id,
        event=name_kind(row.event),
        created=words.format_date_time(row.created_at),
        state=row.state,
        due="" if row.next_at is None else words.format_date_time(row.next_at),
        can_redeliver=active and row.next_at is None,
        attempts=[_describe_attempt(number, attempt) for number, attempt in enumerate(row.attempts, start=1)],
    )


def _describe_attempt(number: int, row: AttemptRow) -> str:
    answer = f"status {row.status}" if row.status else "no response"
    why = f": {row.error}" if row.error else ""
    return f"{number}. {words.format_date_time(row.at)} UTC, {answer} in {row.latency_ms} ms{why}"


def _webhook_path(uuid: str) -> str:
    return f"{_PATH}/{uuid.lower()}"
