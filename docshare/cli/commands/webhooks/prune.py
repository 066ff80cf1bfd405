"""``docshare webhooks prune``: delete webhooks that are no longer used."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.commands.webhooks import listen_registry
from docshare.cli.commands.webhooks.names import WebhookResolver
from docshare.cli.commands.webhooks.rows import DELETE_SPEC, DISABLED
from docshare.cli.framework import bulk, prompts
from docshare.cli.framework.app import App
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.dry_run import print_requests
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal.text import clean

if TYPE_CHECKING:
    from docshare.client import Client

app = App()

Row = Mapping[str, Any]

_ORPHANED = "left behind by 'webhooks listen'"


@app.command("prune", spec=DELETE_SPEC)
def prune(
    inactive: Annotated[bool, typer.Option("--inactive", help="Also delete disabled webhooks.")] = False,
    url_prefix: Annotated[
        str | None,
        typer.Option("--url-prefix", metavar="TEXT", help="Also delete webhooks whose URL starts with TEXT."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Print the requests without sending them.")] = False,
) -> ExitCode:
    """Delete webhooks that are no longer used.

    Deletes webhooks that 'webhooks listen --public-url' created on this machine and left behind when it was killed. The
    options select more. On a terminal, the command asks for confirmation; elsewhere, --yes is required.

    Examples:

      docshare webhooks prune -n
      docshare webhooks prune --inactive --yes
      docshare webhooks prune --url-prefix https://bold-fox.trycloudflare.com/
    """
    ctx = current_context()
    if url_prefix is not None and "://" not in url_prefix:
        raise Stop(ExitCode.USAGE, f"{url_prefix!r} is not the start of a URL", hint="It must begin with https://")
    with ctx.client() as client:
        names = WebhookResolver(ctx, client)
        noted = [str(entry.get("uuid")) for entry in listen_registry.load_orphans(ctx)]
        why = {
            str(row["uuid"]): _describe_reason(row, noted, inactive=inactive, prefix=url_prefix)
            for row in names.webhooks
        }
        found = [row for row in names.webhooks if why[str(row["uuid"])]]
        for row in found:
            ctx.note(f"{row['uuid']}  {row.get('url')}  {why[str(row['uuid'])]}")
        if not found:
            ctx.emit([], DELETE_SPEC._replace(empty="no webhooks to delete"))
            return ExitCode.OK
        return delete_each(ctx, client, found, dry_run=dry_run)


def _describe_reason(row: Row, noted: Sequence[str], *, inactive: bool, prefix: str | None) -> str:
    """Return why the webhook is to be deleted, or nothing if it is not."""
    if row["uuid"] in noted:
        return _ORPHANED
    if inactive and row.get("active") is False:
        return DISABLED
    return "URL matches --url-prefix" if prefix is not None and str(row.get("url")).startswith(prefix) else ""


def delete_each(context: Context, client: "Client", rows: Sequence[Row], *, dry_run: bool) -> ExitCode:
    """Delete webhooks after confirmation, or print the requests with ``dry_run``. Return 12 if some fail."""
    urls = {str(row["uuid"]): row.get("url") for row in rows}
    if dry_run:
        return print_requests(context, [("DELETE", f"/api/v1/webhooks/{uuid}", "") for uuid in urls])
    what = f"the webhook to {clean(str(rows[0].get('url')))}" if len(urls) == 1 else f"{len(urls)} webhooks"
    prompts.confirm(context, f"Delete {what}?" if context.may_prompt else f"Delete {what}")

    def work(uuid: str) -> Row:
        client.pace()
        client.webhooks.delete(uuid)
        _forget(context, uuid)
        return {"uuid": uuid, "url": urls[uuid], "deleted": True}

    return bulk.run_each(context, context.emitter(DELETE_SPEC), list(urls), "webhook", work)


def _forget(context: Context, uuid: str) -> None:
    with suppress(Stop):  # a stale entry is harmless because the webhook is deleted
        if any(entry.get("uuid") == uuid for entry in listen_registry.load_orphans(context)):
            listen_registry.remove(context, uuid)
