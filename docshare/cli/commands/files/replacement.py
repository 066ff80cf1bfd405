"""Replace the document of a file, after a check and a prompt."""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.upload import new_version
from docshare.cli.framework import prompts
from docshare.cli.framework.arguments import FileResolver
from docshare.cli.framework.context import Context
from docshare.cli.framework.dry_run import print_requests
from docshare.cli.framework.sources import check_plan_limits

if TYPE_CHECKING:
    from docshare.client import Client


def replace_document(
    ctx: Context, file: str, path: str, name: str | None, *, keep_anchors: bool, check: bool, dry_run: bool
) -> Mapping[str, Any] | None:
    """Upload ``path`` (``-``: stdin, shown as ``name``) as the next version of ``file`` and return the response.

    With ``dry_run``, print the request and return None.
    """
    with ExitStack() as held:
        item = new_version.read_item(ctx, path, name, held, check=check)
        client = held.enter_context(ctx.client())
        uuid = FileResolver(ctx, client).resolve(file)
        if dry_run:
            query = "?clearAnchors=false" if keep_anchors else ""
            words = f"file={item.name} ({item.size} bytes)"
            print_requests(ctx, [("POST", f"/api/v1/files/{uuid}/content{query}", words)])
            return None
        if check:
            (item,) = check_plan_limits(client, [item])
        if item.refusal is not None:
            raise item.refusal
        if not keep_anchors:
            _confirm(ctx, client, uuid, file)
        return new_version.replace_with_progress(ctx, client, uuid, item, keep_anchors=keep_anchors)


def _confirm(ctx: Context, client: "Client", uuid: str, word: str) -> None:
    """Prompt on a terminal, whether or not there are anchors: the API does not report them."""
    if ctx.may_prompt and not ctx.options.yes:
        what = prompts.describe_file(client, uuid, word)
        anchors = "hotspots, notes, marks, and annotations"
        prompts.confirm(ctx, f"Replace the document of {what}, clearing {anchors} on its pages?")
