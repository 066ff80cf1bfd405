"""``docshare webhooks replay``: events that were kept, sent to a receiver once more."""

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
    file: Annotated[str, typer.Argument(metavar="F", help="File with an event a line; '-' is stdin.")],
    to: Annotated[str | None, typer.Option("--to", metavar="URL", help="The receiver, http or https.")] = None,
    secret_file: Annotated[
        str | None, typer.Option("--secret-file", metavar="F", help="File with the secret to sign with; '-' is stdin.")
    ] = None,
    speed: Annotated[
        str, typer.Option("--speed", metavar="1x|max", help="In the time they took (2x: in half of it), or at once.")
    ] = MAX_SPEED,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="KIND", help="Only events of this kind. Repeatable.")
    ] = None,
    header_name: Annotated[
        str, typer.Option("--header-name", metavar="NAME", help="Name of the signature header.")
    ] = SIGNATURE_HEADER,
    insecure: Annotated[bool, typer.Option("--insecure-forward", help="Take any certificate of the receiver.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Say what would be sent; send nothing.")] = False,
) -> ExitCode:
    """Send events that were kept to a receiver again, each signed anew.

    The file is what 'webhooks listen --save' wrote, or rows of the activity feed ('events list --type activity
    --oldest-first --format jsonl'), or envelopes of your own. They go out in its order, bodies as they were kept. In a
    pipe: line, kind, status, ms, error, tab-separated, as each is answered. Only 2xx is success. Exit code 12 if some
    were not taken, 11 if the receiver could not be reached at all.

    Examples:

      docshare webhooks replay sunday.jsonl --to http://localhost:3000/hook --secret-file secret.txt
      docshare webhooks replay sunday.jsonl --to http://localhost:3000/hook --secret-file secret.txt --only note.created
    """
    from docshare.cli.commands.webhooks.resend import replay_events

    if to is None:
        raise Stop(ExitCode.USAGE, "name the receiver with --to")
    return replay_events(
        current_context().emitter(REPLAY_SPEC),
        file,
        to,
        secret_file=secret_file,
        header_name=header_name,
        speed=speed,
        only=only or (),
        verify=not insecure,
        dry_run=dry_run,
    )
