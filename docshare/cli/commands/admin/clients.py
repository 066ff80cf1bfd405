"""``docshare admin client``: the apps that may ask accounts for access by OAuth."""

from typing import Annotated

import typer

from docshare.cli.framework.admin_channel import Data, run_admin_command, run_change
from docshare.cli.framework.app import App
from docshare.cli.framework.context import current_context
from docshare.cli.framework.dry_run import DryRun
from docshare.cli.framework.exits import ExitCode
from docshare.cli.framework.prompts import confirm
from docshare.cli.terminal.output import Column, Spec

app = App("Apps that may ask accounts for access by OAuth.")

_CLIENT = Spec(
    table=(
        Column("name", "NAME", role="bold", flexible=True),
        Column("clientId", "CLIENT ID", role="id"),
        Column("public", "PUBLIC", kind="flag"),
        Column("redirectUris", "ANSWERS TO", flexible=True, rank=2, show=lambda row: ", ".join(row["redirectUris"])),
        Column("createdAt", "MADE", kind="when", rank=3),
    ),
    plain=("clientId", "name", "public", "createdAt", "redirectUris"),
    id="clientId",
    empty="no apps",
)
_NEW_CLIENT = Spec(
    table=(Column("clientId", "CLIENT ID", role="id"), Column("clientSecret", "SECRET, SHOWN ONCE")),
    plain=("clientId", "clientSecret"),
    fields=_CLIENT.plain,
    id="clientId",
    once=("clientId", "clientSecret"),
)


@app.command("create", spec=_NEW_CLIENT)
def client_create(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What people read when it asks them for access.")],
    redirect_uris: Annotated[
        list[str], typer.Option("--redirect-uri", metavar="URI", help="Where it gets its answer; repeatable.")
    ],
    public: Annotated[
        bool, typer.Option("--public", help="It cannot keep a secret: an app, a page, a script.")
    ] = False,
    data: Data = None,
    dry_run: DryRun = False,
) -> ExitCode:
    """Register an app; unless it is public, its secret is shown once.

    Redirect addresses are https anywhere, http on 127.0.0.1 (any port then fits), or an app's own scheme. Every app
    must use PKCE with S256.

    Examples:

      docshare admin client create "Sales dashboard" --redirect-uri https://sales.example.com/oauth/callback
      docshare admin client create "Team script" --redirect-uri http://127.0.0.1/callback --public
    """
    # An address holds no spaces, so they can stand between several.
    uris = " ".join(redirect_uris)
    wish = {"name": name, "redirect-uris": uris, "public": "yes" if public else "no"}
    return run_change(context, data, dry_run, _NEW_CLIENT, "client create", **wish)


@app.command("list", spec=_CLIENT)
def client_list(context: typer.Context, data: Data = None) -> None:
    """List the registered apps. The command line itself is one of them.

    Examples:

      docshare admin client list
    """
    current_context().emit(run_admin_command(context, data, "client list"), _CLIENT)


@app.command("remove", spec=_CLIENT)
def client_remove(
    context: typer.Context,
    client_id: Annotated[str, typer.Argument(metavar="ID", help="Client id from 'client list'.")],
    data: Data = None,
    dry_run: DryRun = False,
) -> ExitCode:
    """Remove an app; whatever accounts granted to it ends at once.

    Examples:

      docshare admin client remove hV3kR9sQ2tWz7YbN4mXc
    """
    ctx = current_context()
    if not dry_run:
        confirm(ctx, f"Remove the app {client_id}? What accounts granted to it ends.")
    return run_change(context, data, dry_run, _CLIENT, "client remove", id=client_id)
