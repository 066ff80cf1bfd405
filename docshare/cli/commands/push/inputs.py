"""What ``docshare push`` is given, looked at before anything is sent: the document, its ledger, its slug."""

from contextlib import ExitStack
from pathlib import Path

from docshare.cli.commands.upload.manifest import UploadManifest
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import STDIN
from docshare.cli.framework.sources import Item, build_items, check_item, spool_stdin
from docshare.cli.local.storage import hold_lock
from docshare.contract import fields
from docshare.contract.problems import Problem


def read_item(ctx: Context, path: str, name: str | None, held: ExitStack) -> Item:
    """The document, looked at. Stop (2) for what the server would not take."""
    if path != STDIN:
        (item,) = build_items([path], name, command="push")
    elif name is not None:
        item = spool_stdin(ctx, name, held)
    else:
        raise Stop(ExitCode.USAGE, "'-' needs --name: what shall the file be called?")
    item = check_item(item, command="push")
    if item.refusal is not None:
        raise item.refusal
    return item


def open_manifest(path: Path, held: ExitStack) -> UploadManifest:
    """The manifest, held until the end: a second push waits, and then knows what the first has done."""
    held.enter_context(hold_lock(path.with_name(f".{path.name}.lock")))
    return UploadManifest(path).load()


def parse_slug(slug: str | None) -> str | None:
    """``slug`` if the server could take it, else Stop (2)."""
    if slug is None:
        return None
    try:
        found = fields.slug("slug", slug)
    except Problem as problem:
        raise Stop(ExitCode.USAGE, problem.detail) from None
    if not found:
        raise Stop(ExitCode.USAGE, "--slug is empty")
    return found
