"""Sending a document as the next version of a file: for ``docshare replace`` and ``docshare upload --update``."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import STDIN
from docshare.cli.framework.sources import Item, build_items, check_item, spool_stdin
from docshare.cli.terminal import progress
from docshare.client.errors import Refused

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.client import Client

Row = dict[str, Any]

_MAX_ATTEMPTS = 2  # against others who replace the same document at the same time
_RETRY_DELAY = 1.0  # seconds


def read_item(context: "Context", path: str, name: str | None, held: ExitStack, *, check: bool) -> Item:
    """The document at ``path`` (``-``: stdin), looked at if ``check``. Stop (2) for what cannot be sent."""
    if path == STDIN and name is None:
        raise Stop(ExitCode.USAGE, "'-' needs --name: what shall the file be called?")
    item = spool_stdin(context, name or "", held) if path == STDIN else build_items([path], name, command="replace")[0]
    item = check_item(item, command="replace") if check else item
    if item.refusal is not None:
        raise item.refusal
    return item


def replace_with_progress(context: "Context", client: "Client", file: str, item: Item, *, keep_anchors: bool) -> Row:
    """Send one document with a bar; the replace result. Raises as ``replaced``, Stop (2) if it cannot be read."""
    from docshare.cli.commands.upload.send import make_progress_callback

    with progress.show_progress(context, item.name, item.size) as bar:
        report = make_progress_callback(bar, item.size, item.name)
        try:
            return replace_content(context, client, file, item, keep_anchors=keep_anchors, report=report)
        except OSError as error:
            why = f"{item.path} cannot be read: {error.strerror or error}"
            raise Stop(ExitCode.USAGE, why, code="local_file") from error


def replace_content(
    context: "Context",
    client: "Client",
    file: str,
    item: Item,
    *,
    keep_anchors: bool = False,
    digest: bool = False,
    report: Callable[[int], None] | None = None,
) -> Row:
    """Put ``item`` behind the link of ``file`` (UUID or short id); the replace result, with ``sha256`` if ``digest``.

    Another replacement at the same moment is waited for, once. Raises what the client raises, with hints that fit.
    """
    for left in reversed(range(_MAX_ATTEMPTS)):
        try:
            with item.open() as source:
                row = client.files.replace(
                    file, source, item.name, keep_anchors=keep_anchors, progress=report, digest=digest
                )
                _warn_about_ranges(context, row, file)
                return row
        except Refused as refusal:
            refusal.hint = _choose_hint(refusal, file) or refusal.hint
            if refusal.code != "conflict" or not left:
                raise
            context.note("the document is being changed by somebody else; trying once more")
            context.sleep(_RETRY_DELAY)
    raise AssertionError("the last try returns or raises")


def _warn_about_ranges(context: "Context", row: Row, file: str) -> None:
    """Name the links that show no pages any more."""
    if row.get("pageRangeEmpty"):
        context.warn("readers see no pages: the new version has no page of the page range")
        context.warn(f"change it: docshare settings set {file} --pages FROM-TO")
    if count := row.get("emptyVariants"):
        links = "1 variant shows" if count == 1 else f"{count} variants show"
        context.warn(f"{links} no pages: the new version has no page of their own page ranges")
        context.warn(f"list them: docshare variants list {file}")


def _choose_hint(refusal: Refused, file: str) -> str:
    return {
        "gone": "An expired link stays dead; share the document anew: docshare upload PATH",
        "plan_required": "On this plan a changed document is a new upload with a new link: docshare upload PATH",
        "forbidden": "Only the account that owns the file can replace its document.",
        "conflict": f"Somebody else replaces it too; look first: docshare show {file}",
    }.get(refusal.code, "")
