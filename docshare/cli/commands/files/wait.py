"""``docshare files wait``: wait until a file has a number of views, or until its link is in a state."""

from typing import Annotated

import typer

from docshare.cli.commands.files.rows import FILE_LIST_SPEC, FILE_SPEC, STATES
from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FILE_HELP, FileResolver
from docshare.cli.framework.context import current_context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.options import duration_option

app = App()

_WAIT_SPEC = FILE_SPEC._replace(plain=FILE_LIST_SPEC.plain)


def _check_state(word: str | None) -> str | None:
    if word is not None and word not in STATES:
        raise typer.BadParameter(f"{word!r} is not one of {', '.join(STATES)}.")
    return word


@app.command("wait", spec=FILE_LIST_SPEC)
def wait(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)],
    views: Annotated[int | None, typer.Option(min=1, metavar="N", help="Wait for this total number of views.")] = None,
    state: Annotated[
        str | None,
        typer.Option(metavar="STATE", callback=_check_state, help=f"Wait for this state: {', '.join(STATES)}."),
    ] = None,
    timeout: Annotated[str | None, duration_option("Exit with code 124 after this time.")] = None,
    interval: Annotated[
        str | None, duration_option("Time between polls, at least 1s; longer after a while. The default is 2s.")
    ] = None,
    give_up_after: Annotated[str, duration_option("Exit with code 11 after failing for this long.")] = "10m",
) -> ExitCode:
    """Wait for views or for a link state, and print the file.

    A live link opens the document. An expired link has passed its date, and a burned link has used up its view limit;
    both can become live again. A gone file is in the trash or deleted (the API does not distinguish the two); the
    command prints the last known state of the file. A file that is unknown from the start exits with code 3, even for
    gone, so that a wrong name does not look like success. To wait for a reader or a page, see docshare wait.

    Examples:

      docshare files wait @last --views 1 --timeout 48h && ./send-invoice
      docshare files wait slug:offer --state expired --json | jq -r .viewCount
    """
    from docshare.cli.commands.files import polling

    ctx = current_context()
    ctx.is_endless = True
    if (views is None) == (state is None):
        raise Stop(ExitCode.USAGE, "either --views or --state is required")
    printer = ctx.emitter(_WAIT_SPEC)
    client = ctx.client()
    name = FileResolver(ctx, client).resolve(file)
    schedule = polling.make_schedule(timeout, interval, give_up_after)
    found = polling.poll_until_met(ctx, client, name, polling.make_goal(ctx, views, state), schedule)
    if found is None:
        raise Stop(ExitCode.DEADLINE, f"timed out after {timeout}: {_describe_miss(views, state)}")
    if printer.is_for_people:
        printer.emit(found)
    else:
        printer.emit_row(found)
    return ExitCode.OK


def _describe_miss(views: int | None, state: str | None) -> str:
    return f"the file has fewer than {views} views" if views is not None else f"the file is not {state}"
