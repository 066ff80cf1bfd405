"""``docshare dashboard``: open the pages of the account in the browser."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from docshare.cli.commands.browse import may_open
from docshare.cli.framework.admin_channel import Data, RunningServer, find_local_data_dir
from docshare.cli.framework.app import App
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.dry_run import DryRun, preview_request
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal.output import Spec
from docshare.cli.terminal.text import clean
from docshare.client.address import parse_address

app = App()

_LIBRARY_PATH = "/files"


def _render_row(row: Mapping[str, Any], _: Context) -> Iterator[str]:
    yield clean(str(row["url"]))


_DASHBOARD_SPEC = Spec(plain=("url",), fields=("opened", "account"), id="url", human=_render_row)


@app.command("dashboard", spec=_DASHBOARD_SPEC)
def dashboard(
    email: Annotated[
        str | None,
        typer.Option("--email", metavar="EMAIL", help="Account to sign in as. The default is the oldest one."),
    ] = None,
    print_only: Annotated[bool, typer.Option("--print", help="Print the address without opening it.")] = False,
    data: Data = None,
    dry_run: DryRun = False,
) -> ExitCode:
    """Open your pages in the browser: files, webhooks, account.

    For a server on this machine, the address is a sign-in link that works once within ten minutes; keep it secret. For
    a server elsewhere, the address is that of the library, where you sign in. The address is also printed. Over SSH, in
    CI, and in a pipe, no browser is opened. BROWSER selects the browser.

    Examples:

      docshare dashboard
      docshare dashboard --email ada@example.com --print
      docshare dashboard --profile work
    """
    ctx = current_context()
    directory = find_local_data_dir(ctx, data)
    if directory is not None:
        server = RunningServer(directory)
        account = email or server.run_command("owner", {})["email"]
        if dry_run:
            return preview_request(ctx, "POST", "/_admin", {"command": "login-link", "args": {"email": account}})
        row = {**server.run_command("login-link", {"email": account}), "account": account}
    elif email is None:
        # This program sends nothing to the address, so plain http is allowed.
        base = parse_address(str(ctx.connection.url.value), with_token=False, allow_http=True).base
        row = {"url": base + _LIBRARY_PATH}
    else:
        hint = f"Ask the operator of {ctx.connection.origin} for a sign-in link. If it is local, use --data DIR."
        raise Stop(ExitCode.USAGE, "--email requires a server on this machine", hint=hint)
    opened = not (print_only or dry_run) and may_open(ctx) and ctx.open_browser(row["url"])
    ctx.emit({**row, "opened": opened}, _DASHBOARD_SPEC)
    return ExitCode.OK
