"""``docshare admin client``: manage apps that use OAuth."""

from typing import Annotated

import typer

from docshare.cli.framework.admin_channel import Data, run_admin_command, run_change
from docshare.cli.framework.app import App
from docshare.cli.framework.context import current_context
from docshare.cli.framework.dry_run import DryRun
from docshare.cli.framework.exits import ExitCode
from docshare.cli.framework.prompts import confirm
from docshare.cli.terminal.output import Column, Spec

app = App("Manage apps that use OAuth.")

_CLIENT = Spec(
    table=(
        Column("name", "NAME", role="bold", flexible=True),
        Column("clientId", "CLIENT ID", role="id"),
        Column("public", "PUBLIC", kind="flag"),
        Column("redirectUris", "REDIRECT URIS", flexible=True, rank=2, show=lambda row: ", ".join(row["redirectUris"])),
        Column("createdAt", "CREATED", kind="when", rank=3),
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
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name shown to people when the app asks for access.")],
    redirect_uris: Annotated[
        list[str], typer.Option("--redirect-uri", metavar="URI", help="Redirect URI of the app. Repeatable.")
    ],
    public: Annotated[
        bool, typer.Option("--public", help="The app cannot keep a secret (mobile app, web page, script).")
    ] = False,
    data: Data = None,
    dry_run: DryRun = False,
) -> ExitCode:
    """Register an app, and print its client id and secret.

    The secret is shown only once; a public app has none. A redirect URI uses https, http on 127.0.0.1 (which then
    matches any port), or a custom scheme of the app. Every app must use PKCE with S256.

    Examples:

      docshare admin client create "Sales dashboard" --redirect-uri https://sales.example.com/oauth/callback
      docshare admin client create "Team script" --redirect-uri http://127.0.0.1/callback --public
    """
    # URIs contain no spaces, so a space can separate them.
    uris = " ".join(redirect_uris)
    arguments = {"name": name, "redirect-uris": uris, "public": "yes" if public else "no"}
    return run_change(context, data, dry_run, _NEW_CLIENT, "client create", **arguments)


@app.command("list", spec=_CLIENT)
def client_list(context: typer.Context, data: Data = None) -> None:
    """List the registered apps.

    The command line itself is one of them.

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
    """Remove an app and revoke all access granted to it.

    Examples:

      docshare admin client remove hV3kR9sQ2tWz7YbN4mXc
    """
    ctx = current_context()
    if not dry_run:
        confirm(ctx, f"Remove app {client_id} and revoke all access granted to it?")
    return run_change(context, data, dry_run, _CLIENT, "client remove", id=client_id)
