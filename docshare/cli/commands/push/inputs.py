"""Validate the inputs of ``docshare push`` before anything is sent: document, manifest and slug."""

from contextlib import ExitStack
from pathlib import Path

from docshare.cli.commands.upload.manifest import UploadManifest
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import STDIN, require_file_path
from docshare.cli.framework.sources import Item, build_items, check_item, spool_stdin
from docshare.cli.local.storage import hold_lock
from docshare.contract import fields
from docshare.contract.problems import Problem


def read_item(ctx: Context, path: str, name: str | None, held: ExitStack) -> Item:
    """Return the validated document. Raise Stop (2) for one that the server would refuse."""
    if path != STDIN:
        (item,) = build_items([path], name, command="push")
    elif name is not None:
        item = spool_stdin(ctx, name, held)
    else:
        raise Stop(ExitCode.USAGE, "reading from stdin requires --name")
    item = check_item(item, command="push")
    if item.refusal is not None:
        raise item.refusal
    return item


def open_manifest(path: Path, held: ExitStack) -> UploadManifest:
    """Open and lock the manifest until the command ends; a concurrent push waits and then sees this push's entry."""
    require_file_path("--manifest", path)
    held.enter_context(hold_lock(path.with_name(f".{path.name}.lock")))
    return UploadManifest(path).load()


def parse_slug(slug: str | None) -> str | None:
    """Return a ``slug`` that the server may accept; raise Stop (2) for any other."""
    if slug is None:
        return None
    try:
        found = fields.parse_slug("slug", slug)
    except Problem as problem:
        raise Stop(ExitCode.USAGE, problem.detail) from None
    if not found:
        raise Stop(ExitCode.USAGE, "--slug is empty")
    return found
