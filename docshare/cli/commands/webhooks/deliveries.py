"""``docshare webhooks deliveries``: list the deliveries of a webhook and their attempts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.commands.webhooks.names import WEBHOOK_HELP, WebhookResolver
from docshare.cli.framework.app import App
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import read_ids
from docshare.cli.terminal.output import Column, Spec
from docshare.client.recipients import read_objects
from docshare.contract.streams import LIMIT_MAX
from docshare.contract.webhooks import ATTEMPT_KEYS, DELIVERY_KEYS, DELIVERY_STATES, MAX_ATTEMPTS

if TYPE_CHECKING:
    from docshare.cli.terminal.capabilities import Screen
    from docshare.client import Client

app = App()

Row = Mapping[str, Any]

QUEUED, _DELIVERED, ABANDONED = DELIVERY_STATES
_MARKS = {"delivered": "✓", "failed": "✗", "to come": "·"}
_ASCII_MARKS = {"delivered": "+", "failed": "x", "to come": "."}


def build_log_spec(screen: "Screen | None" = None) -> Spec:
    """Return the spec of a list of deliveries, with marks that ``screen`` can show."""
    marks = _MARKS if screen is None or screen.unicode else _ASCII_MARKS
    return Spec(
        table=(
            Column("createdAt", "EVENT AT", kind="when", rank=2),
            Column("event", "EVENT", role="bold"),
            Column("state", "STATE"),
            Column("attempts", "ATTEMPTS", show=lambda row: draw_attempts(row, marks)),
            Column("error", "LAST RESPONSE", flexible=True, rank=1, show=describe_last_response),
            Column("nextAttemptAt", "NEXT", kind="when", rank=1),
            Column("id", "ID", role="id"),
        ),
        plain=DELIVERY_KEYS,
        fields=DELIVERY_KEYS,
        id="id",
        empty="no deliveries",
    )


ATTEMPTS_SPEC = Spec(
    table=(
        Column("id", "ID", role="id"),
        Column("event", "EVENT", role="bold", rank=1),
        Column("attempt", "ATTEMPT"),
        Column("at", "AT", kind="moment", rank=2),
        Column("status", "STATUS"),
        Column("latencyMs", "MS"),
        Column("error", "ERROR", flexible=True),
    ),
    plain=("id", "event", "attempt", *ATTEMPT_KEYS),
    id="id",
    empty="no deliveries",
)


def draw_attempts(row: Row, marks: Mapping[str, str]) -> str:
    """Return a mark for each attempt, and for each one left before the delivery is abandoned."""
    tries = read_objects(row, "attempts")
    past = "".join(marks["delivered" if _is_delivered(attempt) else "failed"] for attempt in tries)
    if row.get("state") != QUEUED:
        return past
    return past + marks["to come"] * max(MAX_ATTEMPTS - len(tries), 1)  # a redelivery adds to the earlier attempts


def describe_last_response(row: Row) -> str:
    """Return ``500 in 143 ms``, or why there was no response; empty before the first attempt."""
    tries = read_objects(row, "attempts")
    if not tries:
        return ""
    last = tries[-1]
    if last.get("status"):
        return f"{last['status']} in {last.get('latencyMs')} ms"
    return str(last.get("error") or "no response")


def _is_delivered(attempt: Row) -> bool:
    status = attempt.get("status")
    return isinstance(status, int) and 200 <= status < 300


def _validate_state(value: str | None) -> str | None:
    if value is not None and value not in DELIVERY_STATES:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(DELIVERY_STATES)}.")
    return value


StateOption = Annotated[
    str | None,
    typer.Option(
        "--state", metavar="STATE", callback=_validate_state, help=f"Only this state: {', '.join(DELIVERY_STATES)}."
    ),
]


@app.command("deliveries", spec=build_log_spec())
def deliveries(
    webhook: Annotated[str, typer.Argument(metavar="WEBHOOK", help=WEBHOOK_HELP)],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, metavar="N", help="Maximum number of deliveries.")] = 20,
    everything: Annotated[bool, typer.Option("--all", help="Show all deliveries in the log.")] = False,
    state: StateOption = None,
    attempts: Annotated[bool, typer.Option("--attempts", help="Print a row for each attempt.")] = False,
) -> None:
    """List the deliveries of a webhook, newest first.

    ATTEMPTS has a cross for each failed attempt, a check mark for a successful one, and a dot for each attempt that is
    left. A delivery is abandoned after five failed attempts, 1 min, 10 min, 1 h, and 1 h apart; docshare webhooks
    redeliver sends it again. The log keeps deliveries for 90 days.

    Piped output is tab-separated: id, event, createdAt, state, nextAttemptAt, attempts; with --attempts, it is id,
    event, attempt, at, status, latencyMs, error. A status of 0 means that there was no response.

    Examples:

      docshare webhooks deliveries 6f1c2e9a
      docshare webhooks deliveries 6f1c2e9a --state abandoned --all --format ids
      docshare webhooks deliveries https://hooks.example.com/docshare --attempts
    """
    ctx = current_context()
    spec = ATTEMPTS_SPEC if attempts else build_log_spec(ctx.out_screen)
    printer = ctx.emitter(spec)
    with ctx.client() as client:
        uuid = WebhookResolver(ctx, client).resolve_uuid(webhook)
        room = None if everything else limit
        rows, more = fetch_newest(client, uuid, room, lambda row: state is None or row.get("state") == state)
    printer.emit(list(split_by_attempt(rows)) if attempts else rows)
    if more:
        ctx.note(f"showing {len(rows)} deliveries; use -n or --all for more")


def fetch_newest(
    client: "Client", webhook: str, room: int | None, wanted: Callable[[Row], bool] = lambda _: True
) -> tuple[Sequence[Mapping[str, Any]], bool]:
    """Return the newest ``room`` ``wanted`` deliveries (None: all), newest first, and whether there are more."""
    feed = client.webhooks.deliveries(webhook)
    page = feed.newest(LIMIT_MAX)
    found = list(filter(wanted, page))
    if len(page) == LIMIT_MAX and (room is None or len(found) <= room):
        found = list(filter(wanted, feed.rows_after(None)))[::-1]
    return found[:room], room is not None and len(found) > room


def split_by_attempt(rows: Iterable[Row]) -> Iterable[Mapping[str, Any]]:
    """Yield a row for each attempt, in order within each delivery."""
    for row in rows:
        for number, attempt in enumerate(read_objects(row, "attempts"), start=1):
            yield {"id": row["id"], "event": row.get("event"), "attempt": number, **attempt}


def read_delivery_ids(context: Context, words: Sequence[str]) -> list[int]:
    """Return the unique delivery ids in order; ``-`` reads ids from stdin. Raise Stop (2) for anything else."""
    found: dict[int, None] = {}
    for word in words:
        for text in read_ids(context) if word == "-" else (word,):
            if not (text.isascii() and text.isdigit()):
                hint = "See: docshare webhooks deliveries WEBHOOK"
                raise Stop(ExitCode.USAGE, f"{text!r} is not a delivery id", hint=hint)
            found[int(text)] = None
    return list(found)
