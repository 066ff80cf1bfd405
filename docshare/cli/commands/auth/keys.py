"""``docshare auth keys``: restricted API keys, for pipelines and other programs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer

from docshare.cli.commands.auth.group import parse_scopes
from docshare.cli.commands.settings.values import parse_time
from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FileResolver
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.dry_run import DryRun, format_body, print_requests
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.prompts import confirm
from docshare.cli.terminal.output import Column, Spec
from docshare.contract.wire import drop_none, format_instant

app = App(
    """Create, list, and revoke API keys with limited access.

    A restricted key has only the scopes that you choose, optionally for one file and until a date. These commands need
    a personal API key, which has full access.

    Examples:

      docshare auth keys create --scope files:read,files:write --name ci
      docshare auth keys list
    """
)

KEY = Spec(
    table=(
        Column("name", "NAME", role="bold", flexible=True),
        Column("tail", "ENDS WITH"),
        Column("scopes", "SCOPES", show=lambda row: ", ".join(row.get("scopes", ("all",)))),
        Column("fileUuid", "FILE", rank=3),
        Column("expiresAt", "EXPIRES", kind="when", rank=1),
        Column("lastUsedAt", "LAST USED", kind="when", rank=2),
        Column("uuid", "UUID", role="id", rank=4),
    ),
    plain=("uuid", "name", "tail", "scopes", "fileUuid", "createdAt", "expiresAt", "lastUsedAt"),
    id="uuid",
    empty="no keys; create one with: docshare auth keys create",
)


def _render_key(row: Mapping[str, Any], context: Context) -> Iterator[str]:
    yield str(row["key"])
    context.note("this key is shown only once")


_NEW_KEY = Spec(
    plain=("key",),
    fields=("key", "uuid", "name", "tail", "scopes", "fileUuid", "createdAt", "expiresAt"),
    id="uuid",
    human=_render_key,
    once=("key",),
)


@app.command("create", spec=_NEW_KEY)
def create(
    scope: Annotated[list[str], typer.Option(metavar="A,B", help="Scopes of the key, such as files:read,files:write.")],
    name: Annotated[str, typer.Option(help="Purpose of the key.")] = "key",
    file: Annotated[str | None, typer.Option(metavar="FILE", help="Limit the key to this file.")] = None,
    expires: Annotated[str | None, typer.Option(metavar="TIME", help="Expiry of the key: 90d, 2030-01-31.")] = None,
    dry_run: DryRun = False,
) -> ExitCode:
    """Create an API key with limited access.

    Piped output is only the key, which cannot be shown again. A key for one file sees no other files and no events of
    the account; it can replace that file, but not upload new ones.

    Examples:

      docshare auth keys create --scope files:read,files:write --name ci --expires 90d
      docshare auth keys create --scope files:read,files:write --file slug:manual --name docs-build
    """
    ctx = current_context()
    scopes = parse_scopes(scope)
    end = None
    if expires is not None:
        found = parse_time(ctx, expires, "--expires")
        if found <= ctx.now():
            raise Stop(ExitCode.USAGE, f"--expires: {expires!r} is in the past")
        end = format_instant(found)
    with ctx.client() as client:
        uuid = None if file is None else FileResolver(ctx, client).resolve(file)
        if dry_run:
            body = drop_none({"name": name, "scopes": scopes.split(), "file": uuid, "expiresAt": end})
            return print_requests(ctx, [("POST", "/api/v1/keys", format_body(body))])
        ctx.emit(client.keys.create(name, scopes.split(), file=uuid, expires_at=end), _NEW_KEY)
    return ExitCode.OK


@app.command("list", spec=KEY)
def list_keys() -> None:
    """List the API keys of the account.

    Newest first, without revoked ones. A personal key has all scopes. The last use is up to a minute late.

    Examples:

      docshare auth keys list
      docshare auth keys list --json | jq -r '.[] | select(.lastUsedAt == null) | .name'
    """
    ctx = current_context()
    with ctx.client() as client:
        ctx.emit(client.keys.list(), KEY)


@app.command("revoke")
def revoke(
    uuid: Annotated[str, typer.Argument(metavar="UUID", help="UUID of the key, or its start.")], dry_run: DryRun = False
) -> ExitCode:
    """Revoke an API key, effective immediately.

    Examples:

      docshare auth keys revoke 6f1c2e9a --yes
    """
    ctx = current_context()
    with ctx.client() as client:
        row = _find_key(client.keys.list(), uuid)
        if dry_run:
            return print_requests(ctx, [("DELETE", f"/api/v1/keys/{row['uuid']}", "")])
        confirm(ctx, f"Revoke the key {row['name']}, which ends in {row['tail']}? Programs that use it stop working.")
        client.keys.revoke(row["uuid"])
    ctx.note(f"revoked the key {row['name']}")
    return ExitCode.OK


def _find_key(rows: Sequence[Mapping[str, Any]], uuid: str) -> Mapping[str, Any]:
    found = [row for row in rows if str(row["uuid"]).startswith(uuid.lower())]
    if len(found) != 1:
        detail = f"several keys begin with {uuid}" if found else f"there is no key {uuid}"
        raise Stop(ExitCode.NOT_FOUND, detail, hint="List them: docshare auth keys list")
    return found[0]
