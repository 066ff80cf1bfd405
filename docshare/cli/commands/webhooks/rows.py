"""Specs for printing webhooks."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.webhooks.names import SHORT_UUID_CHARS
from docshare.cli.local import cache
from docshare.cli.terminal.output import Column, Spec
from docshare.cli.terminal.text import clean
from docshare.client.errors import Refused
from docshare.contract.webhooks import DISABLE_AFTER, KINDS, WEBHOOK_KEYS, WEBHOOK_LIST_KEYS

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.client import Client

Row = Mapping[str, Any]

DISABLED = f"disabled after {DISABLE_AFTER} abandoned deliveries"
FILE_NAME = "fileName"  # added to fileUuid for people


def short_uuid(row: Row) -> str:
    """Return the first characters of the UUID of a webhook."""
    return clean(str(row.get("uuid", ""))[:SHORT_UUID_CHARS])


def describe_kinds(row: Row) -> str:
    """Return the event kinds that a webhook subscribes to, as text."""
    kinds = row.get("events")
    if not isinstance(kinds, list):
        return ""
    return "all kinds" if set(KINDS) <= set(map(str, kinds)) else ", ".join(map(str, kinds))


def describe_scope(row: Row) -> str:
    """Return the name or the UUID of the file of a webhook; empty for all files."""
    return str(row.get(FILE_NAME) or row.get("fileUuid") or "")


def describe_health(row: Row) -> str:
    """Return the problem of a webhook; empty if it is healthy."""
    if row.get("active") is False:
        return DISABLED
    failures = row.get("failureCount")
    return f"{failures} of {DISABLE_AFTER} abandoned" if isinstance(failures, int) and failures > 0 else ""


def add_file_names(context: "Context", client: "Client", rows: Sequence[Row]) -> list[Row]:
    """Return ``rows`` with the names of their files, if the credential can list files."""
    if not any("fileUuid" in row for row in rows):
        return list(rows)
    try:
        files = client.files.list()
    except Refused:  # the credential may lack the scope to list files
        return list(rows)
    cache.remember_files(context, files)
    names = {file["uuid"]: file["originalName"] for file in files}
    return [{**row, FILE_NAME: names.get(str(row.get("fileUuid")))} for row in rows]


def _make_renderer(verb: str) -> "Callable[[Row, Context], Iterator[str]]":
    def lines(row: Row, context: "Context") -> Iterator[str]:
        yield f"{verb} {context.out_screen.paint('id', short_uuid(row))}: {clean(str(row.get('url')))}"

    return lines


LIST_SPEC = Spec(
    table=(
        Column("url", "URL", role="bold", flexible=True),
        Column("events", "EVENTS", flexible=True, rank=2, show=describe_kinds),
        Column("format", "FORMAT", rank=5),
        Column("fileUuid", "FILE", flexible=True, rank=3, show=describe_scope),
        Column("lastStatus", "LAST", rank=4),
        Column("lastDeliveryAt", "SENT", kind="when", rank=6),
        Column("active", "PROBLEM", role="error", rank=1, show=describe_health),
        Column("uuid", "WEBHOOK", role="id", show=short_uuid),
    ),
    plain=("uuid", "url", "format", "active", "events", "fileUuid", "createdAt", "failureCount", "lastStatus"),
    fields=WEBHOOK_LIST_KEYS,
    id="uuid",
    empty="no webhooks; create one with: docshare webhooks create URL --all",
)

SHOW_SPEC = Spec(
    table=(
        Column("url", "url", role="bold"),
        Column("uuid", "webhook", role="id"),
        Column("events", "events", show=describe_kinds),
        Column("format", "format"),
        Column("fileUuid", "file", show=describe_scope),
        Column("createdAt", "created", kind="moment"),
        Column("lastDeliveryAt", "last sent", kind="moment"),
        Column("lastStatus", "last status"),
        Column("active", "problem", role="error", show=describe_health),
        Column("disabledAt", "disabled", role="error", kind="moment"),
    ),
    plain=WEBHOOK_KEYS,
    fields=WEBHOOK_LIST_KEYS,
    id="uuid",
)

DELETE_SPEC = Spec(plain=("uuid", "deleted"), fields=("url", "webhook"), id="uuid", human=_make_renderer("deleted"))
ENABLE_SPEC = Spec(
    plain=("uuid", "active"), fields=(*WEBHOOK_LIST_KEYS, "webhook"), id="uuid", human=_make_renderer("enabled")
)
