"""``docshare webhooks kinds`` and ``sample``: show what the server sends, without any request."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from docshare.cli.commands.webhooks import samples
from docshare.cli.framework.app import App
from docshare.cli.framework.context import current_context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local.settings import resolve_setting
from docshare.cli.terminal.output import Column, Spec, format_json
from docshare.contract.webhooks import DATA_KEYS, DEFAULT_FORMAT, FORMATS

Row = Mapping[str, Any]

app = App()


def _list_own_keys(row: Row) -> str:
    """Return the keys besides those of every event, optional ones in brackets."""
    always = [key for key in row["data"] if key not in DATA_KEYS]
    return ", ".join((*always, *(f"[{key}]" for key in row["optional"])))


KINDS_SPEC = Spec(
    table=(
        Column("kind", "KIND", role="bold"),
        Column("data", "KEYS", flexible=True, show=_list_own_keys),
        Column("plan", "PLAN", rank=2),
        Column("fires", "WHEN", flexible=True, rank=1),
    ),
    plain=("kind", "subscribable", "plan", "data", "optional", "fires"),
    id="kind",
)
SAMPLE_SPEC = Spec(fields=("event", "timestamp", "data", "text", "mrkdwn", "blocks"))


@app.command("kinds", spec=KINDS_SPEC)
def kinds() -> None:
    """List the kinds of events, with triggers and data keys.

    KEYS are the keys of the data besides fileUuid and fileName; optional keys are in brackets. PLAN is the lowest plan
    with which the event is sent. webhook.test is sent only by 'docshare webhooks test'; access.denied is only in the
    activity feed. Piped output is tab-separated: kind, subscribable, plan, data, optional, fires.

    Examples:

      docshare webhooks kinds
      docshare webhooks kinds --json | jq -r '.[] | select(.subscribable).kind'
    """
    ctx = current_context()
    ctx.emit([_build_row(row) for row in samples.ROWS], KINDS_SPEC)


def _build_row(row: samples.SampleKind) -> dict[str, Any]:
    return {
        "kind": row.kind,
        "fires": row.trigger,
        "data": list(row.always),
        "optional": list(row.when),
        "plan": row.plan.tier,
        "subscribable": row.subscribable,
    }


@app.command("sample", spec=SAMPLE_SPEC)
def sample(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="Kind of event; see: docshare webhooks kinds.")],
    values: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Set a value in the data. Repeatable.")
    ] = None,
    minimal: Annotated[bool, typer.Option("--minimal", help="Omit optional keys.")] = False,
    format_: Annotated[
        str,
        typer.Option("--format", metavar="json|slack", help="Format of the webhook."),
    ] = DEFAULT_FORMAT,
) -> None:
    """Print a sample event exactly as the server sends it.

    Use --set fields.NAME=VALUE for a field of a custom gate form; --set also accepts timestamp. --format slack prints
    the message to Slack, with links to the current server.

    Examples:

      docshare webhooks sample file.viewed --set pagesViewed=12 > body.json
      docshare webhooks sample gate.completed --set fields.company=Acme --json | jq .data
      docshare webhooks sample note.created --format slack | curl -d @- -H 'Content-Type: application/json' $SLACK_URL
    """
    ctx = current_context()
    printer = ctx.emitter(SAMPLE_SPEC)
    found = samples.build_envelope(kind, samples.parse_assignments(values or ()), minimal=minimal)
    if format_ not in FORMATS:
        raise Stop(ExitCode.USAGE, f"--format: unknown format {format_!r}", hint=f"Formats: {', '.join(FORMATS)}.")
    if format_ != DEFAULT_FORMAT:
        from docshare.contract import slack

        found = slack.render_message(found, str(resolve_setting(ctx, "url").value).rstrip("/"))
    if printer.is_default_shape:
        ctx.print(format_json(found, ascii_only=ctx.stdout_tty))
    else:
        printer.emit(found)
