"""``docshare admin deliveries``: what the instance sends to webhooks, whosever they are."""

from typing import Annotated

import typer

from docshare.cli.commands.webhooks.deliveries import BY_ATTEMPT, State, by_attempt, last_answer, log_spec
from docshare.cli.framework.admin_channel import Data, asked, changed
from docshare.cli.framework.app import App
from docshare.cli.framework.context import current
from docshare.cli.framework.dry_run import Doing
from docshare.cli.framework.exits import ExitCode
from docshare.cli.terminal.output import Column, Spec
from docshare.contract.webhooks import DELIVERY_KEYS

app = App("What the instance sends to webhooks.")

_OWN = ("webhook", "url", "account")


def _list_spec() -> Spec:
    spec = log_spec(current().out_screen)
    *columns, last = spec.table
    whose = Column("account", "ACCOUNT", flexible=True, rank=3)
    where = Column("url", "ADDRESS", flexible=True, rank=4)
    return spec._replace(table=(*columns, whose, where, last), plain=_LIST.plain, fields=_LIST.fields)


_LIST = log_spec()._replace(
    plain=("id", "state", "event", "createdAt", "account", "webhook", "url", "nextAttemptAt", "attempts"),
    fields=(*DELIVERY_KEYS, *_OWN),
    empty="no deliveries",
)
_ONE = Spec(
    table=(
        Column("event", "event", role="bold"),
        Column("state", "state"),
        Column("createdAt", "event at", kind="moment"),
        Column("nextAttemptAt", "next", kind="moment"),
        Column("error", "last answer", show=last_answer),
        Column("url", "address"),
        Column("account", "account"),
        Column("webhook", "webhook", role="id"),
        Column("uuid", "Webhook-Id"),
        Column("id", "id", role="id"),
        Column("body", "body"),
    ),
    plain=("id", "state", "event", "createdAt", "account", "webhook", "url", "nextAttemptAt"),
    fields=(*DELIVERY_KEYS, *_OWN, "uuid", "body"),
    id="id",
)
_Id = Annotated[int, typer.Argument(metavar="ID", min=1, help="Number from 'deliveries list'.")]


@app.command("list", spec=_LIST)
def deliveries_list(context: typer.Context, state: State = None, data: Data = None) -> None:
    """List the newest 500 deliveries of the instance.

    Examples:

      docshare admin deliveries list --state queued
      docshare admin deliveries list --json | jq -r '.[] | select(.state == "abandoned") | .url' | sort | uniq -c
    """
    rows = asked(context, data, "deliveries list")
    current().emit([row for row in rows if state is None or row.get("state") == state], _list_spec())


@app.command("show", spec=_ONE)
def deliveries_show(context: typer.Context, delivery: _Id, data: Data = None) -> None:
    """Show one delivery: every attempt, and the body as it is sent.

    Examples:

      docshare admin deliveries show 1042
      docshare admin deliveries show 1042 --json | jq .body
    """
    ctx = current()
    printer = ctx.emitter(_ONE)
    row = asked(context, data, "deliveries show", id=str(delivery))
    printer.emit(row)
    tries = list(by_attempt([row]))
    if printer.for_people and tries:
        ctx.print("")
        ctx.emit(tries, BY_ATTEMPT)


@app.command("retry", spec=_ONE)
def deliveries_retry(context: typer.Context, delivery: _Id, data: Data = None, dry_run: Doing = False) -> ExitCode:
    """Send a delivery again: a new round of up to five attempts. One that is still queued is due now.

    Examples:

      docshare admin deliveries retry 1042
    """
    return changed(context, data, dry_run, _ONE, "deliveries retry", id=str(delivery))
