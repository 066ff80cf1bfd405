"""Upload a document as the next version of a file, for ``docshare replace`` and ``docshare upload --update``."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.upload.rows import print_warnings
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import STDIN
from docshare.cli.framework.sources import Item, build_items, check_item, spool_stdin
from docshare.cli.terminal import progress
from docshare.client.errors import Refused
from docshare.contract.amounts import format_plural
from docshare.contract.media import DOCUMENTS

if TYPE_CHECKING:
    from docshare.client import Client

Row = Mapping[str, Any]


_MAX_ATTEMPTS = 2  # in case someone else replaces the same document at the same time
_RETRY_DELAY = 1.0  # seconds
_PROCESSING = "processing on server"
_CONVERTING = "converting on server"
_CONVERTED_EXTENSIONS = tuple(kind.extension for kind in DOCUMENTS.values() if kind.is_converted)


def read_item(context: Context, path: str, name: str | None, held: ExitStack, *, check: bool) -> Item:
    """Return the document at ``path`` (``-``: stdin), validated if ``check``. Raise Stop (2) if it cannot be sent."""
    if path == STDIN and name is None:
        raise Stop(ExitCode.USAGE, "reading from stdin requires --name")
    item = spool_stdin(context, name or "", held) if path == STDIN else build_items([path], name, command="replace")[0]
    item = check_item(item, command="replace") if check else item
    if item.refusal is not None:
        raise item.refusal
    return item


def replace_with_progress(context: Context, client: "Client", file: str, item: Item, *, keep_anchors: bool) -> Row:
    """Replace a document while showing progress; raise as ``replace_content``, or Stop (2) if it cannot be read."""
    with progress.show_progress(context, item.name, item.size) as bar:
        report = make_progress_callback(bar, item.size, item.name)
        try:
            row = replace_content(context, client, file, item, keep_anchors=keep_anchors, report=report)
        except OSError as error:
            why = f"cannot read {item.path}: {error.strerror or error}"
            raise Stop(ExitCode.USAGE, why, code="local_file") from error
    print_warnings(context, item.path, row)
    return row


def replace_content(
    context: Context,
    client: "Client",
    file: str,
    item: Item,
    *,
    keep_anchors: bool = False,
    digest: bool = False,
    report: Callable[[int], None] | None = None,
) -> Row:
    """Replace the content behind the link of ``file`` (UUID or short id); the result has ``sha256`` if ``digest``.

    Retry once if someone else replaces it at the same moment. Raises what the client raises, with matching hints.
    """
    for left in reversed(range(_MAX_ATTEMPTS)):
        try:
            with item.open() as source:
                row = client.files.replace(
                    file, source, item.name, keep_anchors=keep_anchors, progress=report, digest=digest
                )
                warn_about_ranges(context, row, file)
                return row
        except Refused as refusal:
            refusal.hint = _choose_hint(refusal, file) or refusal.hint
            if refusal.code != "conflict" or not left:
                raise
            context.note("another client is replacing this document; retrying")
            context.sleep(_RETRY_DELAY)
    raise AssertionError("the last attempt returns or raises")


def warn_about_ranges(context: Context, row: Row, file: str) -> None:
    """Warn about links that no longer show any pages."""
    if row.get("pageRangeEmpty"):
        context.warn("readers see no pages: the new version has none of the pages in the page range")
        context.warn(f"change the range: docshare settings set {file} --pages FROM-TO")
    if count := row.get("emptyVariants"):
        links = format_plural(count, "variant shows", "variants show")
        context.warn(f"{links} no pages: the new version has none of the pages in their page ranges")
        context.warn(f"list them: docshare variants list {file}")


def _choose_hint(refusal: Refused, file: str) -> str:
    return {
        "gone": "An expired link cannot be renewed; upload the document again: docshare upload PATH",
        "plan_required": "On this plan, upload the changed document under a new link: docshare upload PATH",
        "forbidden": "Only the account that owns the file can replace its document.",
        "conflict": f"Another client is replacing it; check its version: docshare show {file}",
    }.get(refusal.code, "")


ProgressCallback = Callable[[int], None]


def make_progress_callback(bar: progress.Progress, size: int, name: str = "") -> ProgressCallback:
    """Return a callback that moves ``bar`` while ``size`` bytes are sent and then shows the server's processing."""
    stages = [False]

    def report(sent: int) -> None:
        if stages[0]:
            bar.set_stage("")  # the upload was restarted
        bar.update(sent)
        stages[0] = sent == size > 0
        if stages[0]:
            bar.set_stage(_CONVERTING if name.lower().endswith(_CONVERTED_EXTENSIONS) else _PROCESSING)

    return report
