"""Fetch what ``docshare readership report`` shows, and render its page thumbnails on this machine from the PDF."""

import base64
import io
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.readership.days import ReportDays, format_day
from docshare.cli.commands.readership.sessions import explain_forbidden
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal import progress
from docshare.cli.terminal.text import clean
from docshare.client.errors import Refused
from docshare.contract.features import required_plan
from docshare.contract.plans import MB, Plan
from docshare.report import ReportInput, ReportPeriod, Thumbnail, is_empty, list_thumbnail_pages

if TYPE_CHECKING:
    from docshare.client import Client

MAX_DOCUMENT_BYTES = 100 * MB  # larger documents are not downloaded for thumbnails
_TIERS = {plan.tier: plan for plan in Plan}
_SKIPPABLE_STATUSES = (403, 404)  # not in the plan, or no such endpoint
_WIDTH, _HEIGHT = 280, 560  # maximum pixels
_QUALITY = 62


def fetch_material(ctx: Context, client: "Client", name: str, days: ReportDays) -> ReportInput:
    """Fetch everything that the plan includes. Raise ``Refused`` if the report itself is rejected."""
    reading = client.readership
    with explain_forbidden():
        answer = days.limit_views(reading.report(name, days.first, days.last))
    tier = str(answer.get("tier", ""))

    def ask_if_allowed(operation: str, ask: Callable[[str], Mapping[str, Any]]) -> Mapping[str, Any] | None:
        if tier in _TIERS and _TIERS[tier] < required_plan(operation):
            return None
        try:
            return ask(name)
        except Refused as refusal:
            if refusal.status not in _SKIPPABLE_STATUSES:
                raise
            ctx.note(f"skipped: {refusal.detail}")
            return None

    def fetch_pages(name: str) -> Mapping[str, Any]:
        return reading.pages(name, days.first, days.last)

    return ReportInput(
        answer,
        ctx.now(),
        period=_build_period(days, ctx.now()),
        pages=ask_if_allowed("readership.pages", fetch_pages),
        marks=ask_if_allowed("readership.marks", reading.marks),
        annotations=ask_if_allowed("readership.annotations", reading.annotations),
        feedback=ask_if_allowed("readership.feedback", reading.feedback),
        code=_fetch_qr_code(client, name) if is_empty(answer) else None,
    )


def _fetch_qr_code(client: "Client", name: str) -> str | None:
    """Return the QR code of the link, which is shown in a report without readers."""
    with suppress(Refused):
        return f"data:image/png;base64,{base64.b64encode(client.files.qr(name)).decode()}"
    return None


def _build_period(days: ReportDays, now: int) -> ReportPeriod | None:
    """Return the range of a report that is written at ``now`` (ms), which ends on that day at the latest; None for
    a report of all time."""
    if days.first is None:
        return None
    today = format_day(now)
    last = max(days.first, min(days.last or today, today))  # the clock of the server may be ahead
    return ReportPeriod(date.fromisoformat(days.first), date.fromisoformat(last), None)


def render_pictures(ctx: Context, client: "Client", name: str, material: ReportInput) -> dict[int, Thumbnail]:
    """Render thumbnails of the pages in the report from the stored PDF, via a private temporary directory."""
    wanted = list_thumbnail_pages(material)
    if not wanted or not _is_small_enough(ctx, material):
        return {}
    with tempfile.TemporaryDirectory(prefix="docshare-") as folder:
        path = Path(folder) / "document.pdf"
        try:
            _download(ctx, client, name, path)
        except Refused as refusal:
            ctx.note(f"no page thumbnails: {refusal.detail}")
            return {}
        with progress.show_progress(ctx, "rendering pages", len(wanted), counted=True) as bar:
            found = _render_thumbnails(path, wanted, bar.update)
    if not found:
        ctx.note("no page thumbnails: the document could not be rendered")
    return found


def _is_small_enough(ctx: Context, material: ReportInput) -> bool:
    file = material.report.get("file")
    size = file.get("size") if isinstance(file, dict) else None
    small = isinstance(size, int) and size <= MAX_DOCUMENT_BYTES
    if not small:
        ctx.note("no page thumbnails: the document is larger than 100 MB")
    return small


def _download(ctx: Context, client: "Client", name: str, path: Path) -> None:
    content = client.files.content(name)
    got = 0
    with (
        open(path, "wb") as out,
        progress.show_progress(ctx, clean(content.filename or "document"), content.length) as bar,
    ):
        for block in content.blocks:
            got += out.write(block)
            if got > MAX_DOCUMENT_BYTES:
                raise Stop(ExitCode.UNREACHABLE, "the document is larger than the server reported")
            bar.update(got)


def _render_thumbnails(path: Path, pages: Sequence[int], done: Callable[[int], None]) -> dict[int, Thumbnail]:
    """Render ``pages`` of the PDF at ``path`` as ``data:`` URLs of JPEGs, by page number.

    ``done`` is called with the number of finished pages. Pages that cannot be rendered are missing from the result; if
    the document cannot be opened, it is empty.
    """
    import pypdfium2

    found: dict[int, Thumbnail] = {}
    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError:
        return found
    try:
        for count, number in enumerate(pages, 1):
            if number <= len(document):
                with suppress(pypdfium2.PdfiumError, ValueError, MemoryError):
                    found[number] = _render_page(document[number - 1])
            done(count)
    finally:
        document.close()
    return found


def _render_page(page: Any) -> Thumbnail:
    wide, tall = page.get_size()
    image = page.render(scale=min(_WIDTH / max(wide, 1), _HEIGHT / max(tall, 1))).to_pil().convert("RGB")
    target = io.BytesIO()
    image.save(target, "JPEG", quality=_QUALITY, optimize=True)
    return Thumbnail(f"data:image/jpeg;base64,{base64.b64encode(target.getvalue()).decode()}", *image.size)
