"""``docshare webhooks replay``: send saved events to a receiver."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from docshare.cli.framework.app import App
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal.output import Column, Spec
from docshare.cli.terminal.text import clean
from docshare.contract.webhooks import SIGNATURE_HEADER

app = App()

MAX_SPEED = "max"
_SPEED = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)x", re.ASCII)


def _render_row(row: Mapping[str, Any], context: Context) -> Iterator[str]:
    good = 200 <= row["status"] < 300
    answer = context.out_screen.paint("ok" if good else "error", clean(str(row["status"] or row["error"])))
    yield f"{clean(row['kind'])}  {answer}  {row['ms']} ms"


REPLAY_SPEC = Spec(
    table=(
        Column("line", "LINE"),
        Column("kind", "KIND", role="bold"),
        Column("status", "STATUS"),
        Column("ms", "MS"),
        Column("error", "ERROR", role="error", flexible=True),
    ),
    plain=("line", "kind", "status", "ms", "error"),
    fields=("id",),
    id="id",
    human=_render_row,
)


@app.command("replay", spec=REPLAY_SPEC)
def replay(
    file: Annotated[str, typer.Argument(metavar="F", help="File with one event per line; '-' is stdin.")],
    to: Annotated[str | None, typer.Option("--to", metavar="URL", help="URL of the receiver, http or https.")] = None,
    secret_file: Annotated[
        str | None, typer.Option("--secret-file", metavar="F", help="File with the secret to sign with; '-' is stdin.")
    ] = None,
    speed: Annotated[
        str,
        typer.Option(
            "--speed", metavar="1x|max", help="Send at the original pace (2x: twice as fast), or without delay."
        ),
    ] = MAX_SPEED,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="KIND", help="Only events of this kind. Repeatable.")
    ] = None,
    header_name: Annotated[
        str, typer.Option("--header-name", metavar="NAME", help="Name of the signature header.")
    ] = SIGNATURE_HEADER,
    insecure: Annotated[
        bool, typer.Option("--insecure-forward", help="Accept any TLS certificate of the receiver.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Print the requests without sending them.")] = False,
) -> ExitCode:
    """Send saved events to a receiver, with new signatures.

    The file contains the output of 'webhooks listen --save', rows of the activity feed ('events list --type activity
    --oldest-first --format jsonl'), or your own events. Events are sent in the order of the file, with unchanged
    bodies. Piped output is tab-separated: line, kind, status, ms, error. Only 2xx responses count as success. The exit
    code is 12 if the receiver did not accept some events, and 11 if it could not be reached at all.

    Examples:

      docshare webhooks replay sunday.jsonl --to http://localhost:3000/hook --secret-file secret.txt
      docshare webhooks replay sunday.jsonl --to http://localhost:3000/hook --secret-file secret.txt --only note.created
    """
    from docshare.cli.commands.webhooks.resend import replay_events

    if to is None:
        raise Stop(ExitCode.USAGE, "--to is required")
    return replay_events(
        current_context().emitter(REPLAY_SPEC),
        file,
        to,
        secret_file=secret_file,
        header_name=header_name,
        speed=_parse_speed(speed),
        only=only or (),
        verify=not insecure,
        dry_run=dry_run,
    )


def _parse_speed(speed: str) -> float | None:
    """Return the factor of ``--speed``, or None for no delays. Raise Stop (2) for anything else."""
    if speed == MAX_SPEED:
        return None
    match = _SPEED.fullmatch(speed)
    if match is None or float(match[1]) == 0:
        raise Stop(ExitCode.USAGE, f"--speed: {speed!r} is not a speed", hint="Use 1x, 10x, 0.5x or max.")
    return float(match[1])
