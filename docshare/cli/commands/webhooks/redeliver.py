"""``docshare webhooks redeliver``: send single deliveries or all failed ones again."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.commands.webhooks.deliveries import ABANDONED, fetch_newest, read_delivery_ids
from docshare.cli.commands.webhooks.names import WEBHOOK_HELP, WebhookResolver
from docshare.cli.framework import bulk
from docshare.cli.framework.app import App
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.dry_run import print_requests
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.times import Since, parse_since
from docshare.cli.terminal.output import Spec
from docshare.cli.terminal.text import clean
from docshare.client.recipients import read_objects
from docshare.contract.webhooks import DELIVERY_KEYS
from docshare.contract.wire import parse_instant

if TYPE_CHECKING:
    from docshare.client import Client

app = App()

Row = Mapping[str, Any]


def _render_row(row: Row, context: Context) -> Iterator[str]:
    yield f"queued {context.out_screen.paint('id', clean(str(row['id'])))}: {clean(str(row.get('event')))}"


REDELIVER_SPEC = Spec(
    plain=("id", "event", "state", "nextAttemptAt"),
    fields=(*DELIVERY_KEYS, "delivery"),
    id="id",
    empty="no deliveries to send again",
    human=_render_row,
)


@app.command("redeliver", spec=REDELIVER_SPEC)
def redeliver(
    webhook: Annotated[str, typer.Argument(metavar="WEBHOOK", help=WEBHOOK_HELP)],
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID...", help="Delivery ids, or - for ids on stdin.")
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Send all abandoned deliveries again.")] = False,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="ID|TIME", help="With --failed: only after this id, duration ago (2h), or date."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Print the requests without sending them.")] = False,
) -> ExitCode:
    """Send deliveries again.

    Each delivery is queued for up to five new attempts, with the same body and a new signature. It keeps its
    Webhook-Id, by which the receiver can detect duplicates. A delivery that is still queued is sent immediately. A
    disabled webhook must be enabled first.

    Piped output is tab-separated: id, event, state, nextAttemptAt. The exit code is 12 if the server rejected some of
    several deliveries.

    Examples:

      docshare webhooks redeliver 6f1c2e9a 1042
      docshare webhooks redeliver 6f1c2e9a --failed --since 2d
      docshare webhooks deliveries 6f1c2e9a --all --format ids | docshare webhooks redeliver 6f1c2e9a -
    """
    ctx = current_context()
    _check_options(ids or [], failed=failed, since=since)
    start = Since() if since is None else parse_since(since, ctx.now())
    printer = ctx.emitter(REDELIVER_SPEC)
    with ctx.client() as client:
        uuid = WebhookResolver(ctx, client).resolve_uuid(webhook)
        numbers = _list_abandoned(client, uuid, start) if failed else read_delivery_ids(ctx, ids or [])
        if dry_run:
            path = f"/api/v1/webhooks/{uuid}/deliveries"
            return print_requests(ctx, [("POST", f"{path}/{number}/redeliver", "") for number in numbers])
        if not numbers:
            printer.emit([])
            return ExitCode.OK

        def work(number: str) -> Row:
            client.pace()
            return client.webhooks.redeliver(uuid, int(number))

        return bulk.run_each(ctx, printer, [str(number) for number in numbers], "delivery", work)


def _check_options(ids: list[str], *, failed: bool, since: str | None) -> None:
    if bool(ids) == failed:
        hint = "See: docshare webhooks deliveries WEBHOOK"
        raise Stop(ExitCode.USAGE, "delivery ids or --failed are required", hint=hint)
    if since is not None and not failed:
        raise Stop(ExitCode.USAGE, "--since requires --failed")


def _list_abandoned(client: "Client", uuid: str, start: Since) -> list[int]:
    """Return the ids of the deliveries abandoned since ``start``, oldest first."""
    rows, _ = fetch_newest(client, uuid, None, lambda row: row.get("state") == ABANDONED and _is_after(row, start))
    return [int(row["id"]) for row in rows][::-1]


def _is_after(row: Row, start: Since) -> bool:
    if start.id is not None:
        return int(row["id"]) > start.id
    # A delivery is abandoned hours after its event, so the time of the event would exclude recent failures.
    times = (row.get("createdAt"), *(attempt.get("at") for attempt in read_objects(row, "attempts")))
    return start.at is None or max(parse_instant(str(time)) or 0 for time in times) >= start.at
