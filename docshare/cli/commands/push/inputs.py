"""What ``docshare push`` is given, looked at before anything is sent: the document, its ledger, its slug."""

from contextlib import ExitStack
from pathlib import Path

from docshare.cli.commands.upload.manifest import Manifest
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import STDIN
from docshare.cli.framework.sources import Item, checked, items_of, spooled
from docshare.cli.local.storage import locked
from docshare.contract import fields
from docshare.contract.problems import Problem


def item_of(ctx: Context, path: str, name: str | None, held: ExitStack) -> Item:
    """The document, looked at. Stop (2) for what the server would not take."""
    if path != STDIN:
        (item,) = items_of([path], name, command="push")
    elif name is not None:
        item = spooled(ctx, name, held)
    else:
        raise Stop(ExitCode.USAGE, "'-' needs --name: what shall the file be called?")
    item = checked(item, command="push")
    if item.refusal is not None:
        raise item.refusal
    return item


def ledger_at(path: Path, held: ExitStack) -> Manifest:
    """The manifest, held until the end: a second push waits, and then knows what the first has done."""
    held.enter_context(locked(path.with_name(f".{path.name}.lock")))
    return Manifest(path).load()


def checked_slug(slug: str | None) -> str | None:
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
