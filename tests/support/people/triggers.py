"""Cause events with the admin command "trigger", and count the rows that it creates."""

from typing import Any

from werkzeug.test import TestResponse

from docshare.server.instance import instance_key
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.rows import count_rows
from tests.support.outside.queued_deliveries import create_webhook_for
from tests.support.people.cast import World

FORM = [
    {"key": "who", "label": "Your address", "type": "email", "required": True},
    {"key": "firm", "label": "Your firm", "type": "company", "required": False},
]
TRIGGER_SETTINGS: dict[str, dict[str, Any]] = {
    "file.viewed": {},
    "file.downloaded": {},
    "gate.completed": {"gateFields": FORM},
    "note.created": {"commentsEnabled": True, "commentsAllowPublic": True},
    "receipt.confirmed": {"askReceipt": True},
    "file.burned": {"viewLimit": 3},
    "content.replaced": {},
    "invite.viewed": {},
    "proofing.updated": {"marksEnabled": True, "annotationsEnabled": True},
}
"""The nine kinds, typed from the specification, with the settings that make each possible."""


def upload_deck(world: World) -> dict[str, Any]:
    """Upload a file of twelve pages as Pia, with a webhook for all kinds."""
    create_webhook_for(world)
    return world.pia.upload(simple_pdf(pages=12), "Übersicht.pdf")


def post_trigger(
    world: World, kind: str, file: str, *, values: dict[str, str] | None = None, **args: str
) -> TestResponse:
    chosen = {f"set.{key}": value for key, value in (values or {}).items()}
    body = {"command": "trigger", "args": {"kind": kind, "file": file, **args, **chosen}}
    headers = {"Authorization": f"Instance {instance_key(world.rt.config.data_dir)}"}
    return world.http.post("/_admin", json=body, headers=headers)


def trigger(world: World, kind: str, made: dict[str, Any], **args: Any) -> dict[str, Any]:
    answer = post_trigger(world, kind, made["shortId"], **args)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.get_json()
    return found


def assert_trigger_refused(world: World, kind: str, made: dict[str, Any], **args: Any) -> tuple[str, str, str]:
    """Assert that the trigger is rejected without changes; return code, detail and hint."""
    before = count_traces(world)
    answer = post_trigger(world, kind, made["shortId"], **args)
    assert answer.content_type == "application/problem+json", answer.text
    assert count_traces(world) == before
    found = answer.get_json()
    return found["code"], found["detail"], found["hint"]


def count_traces(world: World) -> list[int]:
    tables = ("activity_rows", "view_sessions", "view_rows", "download_rows", "gate_rows", "viewers", "invites",
              "deliveries", "notes", "receipts", "marks", "annotations", "beacons", "revisions")  # fmt: skip
    return [count_rows(world, table) for table in tables]


def event_data(made: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"fileUuid": made["uuid"], "fileName": "Übersicht.pdf", **more}
