"""Print reader sessions, for the report, the list of sessions and ``wait``."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.framework.arguments import FILE_HELP
from docshare.cli.terminal.output import Column, Spec
from docshare.cli.terminal.text import clean
from docshare.client.errors import Refused
from docshare.client.recipients import read_number
from docshare.contract.amounts import round_half_up
from docshare.contract.wire import format_duration

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.client import Client

Row = Mapping[str, Any]
Labels = Mapping[str, str]
FileArgument = Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)]

SESSION_COLUMNS = (
    "id", "sessionId", "startedAt", "totalTimeMs", "pagesViewed", "country", "deviceType", "browser", "returning",
    "email", "name", "fromInvite", "variantUuid", "contentVersion", "pages",
)  # fmt: skip


@contextmanager
def explain_forbidden() -> Iterator[None]:
    """Explain a 403 response, which these endpoints return for files of other accounts instead of a 404."""
    try:
        yield
    except Refused as refusal:
        if refusal.status == 403 and refusal.code == "forbidden":
            refusal.hint = "Only the owner of a file can see its readership; the file may belong to another account."
        raise


def format_number(value: float) -> str:
    """Format a number with at most one decimal: ``12``, ``66.7``."""
    return str(int(value)) if value == int(value) else f"{round_half_up(value, 1):.1f}".removesuffix(".0")


def describe_reader(row: Row, labels: Labels) -> str:
    """Return the reader of a session if known: ``ann@example.com invited``, the name or email address that they
    entered, or ``variant Ann Lee``, whose link anyone may have opened; else the pseudonym, ``Reader 7F3A2C``."""
    known = row.get("name") or row.get("email")
    if known:
        return f"{known} invited" if row.get("fromInvite") is True else str(known)
    label = labels.get(str(row.get("variantUuid")))
    return f"variant {label}" if label else str(row.get("pseudonym") or "")


def _describe_pages(row: Row) -> str:
    """Return ``2 of 3`` for pages read and shown; a link may show fewer pages than the document has."""
    seen, shown = format_number(read_number(row, "pagesViewed")), read_number(row, "shownPages")
    return f"{seen} of {format_number(shown)}" if shown else seen


def build_session_columns(labels: Labels) -> tuple[Column, ...]:
    """Return the columns of a table of sessions. ``labels`` are those of variants by UUID."""
    return (
        Column("startedAt", "STARTED", kind="when"),
        Column("who", "READER", role="bold", flexible=True, show=lambda row: describe_reader(row, labels) or "-"),
        Column("totalTimeMs", "TIME", kind="duration"),
        Column("pagesViewed", "PAGES", show=_describe_pages),
        Column("contentVersion", "VERSION", rank=4),
        Column("returning", "RETURNING", kind="flag", rank=5),
        Column("country", "COUNTRY", rank=3),
        Column("deviceType", "DEVICE", rank=6),
        Column("browser", "BROWSER", rank=7),
        Column("sessionId", "SESSION", role="id", rank=2),
    )


def fetch_labels(client: "Client", file: str) -> dict[str, str]:
    """Return the labels of the variants of ``file`` by UUID, or nothing if the credential cannot list them."""
    try:
        variants = client.variants.list(file)
    except Refused:  # optional: the sessions are shown without it
        return {}
    return {str(row["uuid"]): str(row["label"]) for row in variants if row.get("uuid") and row.get("label")}


def build_session_spec(labels: Labels) -> Spec:
    """Return how to print sessions. ``labels`` are those of variants by UUID."""

    def human(row: Row, context: "Context") -> Iterator[str]:
        screen = context.out_screen
        shown = read_number(row, "shownPages") or read_number(row, "pagesViewed")
        pages = f"{_describe_pages(row)} {'page' if shown == 1 else 'pages'}"
        facts = (
            describe_reader(row, labels) or "someone",
            f"read {pages} in {format_duration(int(read_number(row, 'totalTimeMs')))}",
            row.get("country"),
            row.get("deviceType"),
        )
        line = f" {screen.glyph('·')} ".join(clean(str(fact)) for fact in facts if fact)
        yield f"{line}  {screen.paint('dim', clean(str(row.get('sessionId', ''))))}"

    return Spec(
        table=build_session_columns(labels),
        plain=SESSION_COLUMNS,
        id="sessionId",
        empty="no sessions",
        human=human,
    )
