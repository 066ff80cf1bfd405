"""Create the links of ``docshare variants create`` one by one, recording and printing each before the next."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.variants.plan import CREATED, DUPLICATE, FAILED, PENDING, RECOVERED, SENDING, RecipientLink
from docshare.cli.commands.variants.qr_images import save_qr_image
from docshare.cli.commands.variants.result_file import ResultFile
from docshare.cli.framework import failures
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop, exit_code
from docshare.cli.local import cache
from docshare.cli.terminal import progress
from docshare.cli.terminal.output import Emitter
from docshare.client.errors import ClientError
from docshare.contract.problems import Problem
from docshare.contract.wire import format_duration

if TYPE_CHECKING:
    from docshare.client import Client

# Failures that every further row would repeat, or that must be looked into first.
_FATAL_CODES = {
    ExitCode.CREDENTIAL, ExitCode.FORBIDDEN, ExitCode.PLAN, ExitCode.NOT_FOUND, ExitCode.RATE_LIMITED,
    ExitCode.UNREACHABLE, ExitCode.UNKNOWN_OUTCOME,
}  # fmt: skip
_ANNOUNCE_SECONDS = 10.0  # announce work that takes at least this long


class VariantCreator:
    """Creates the missing ``links`` of ``file``; ``known``: the variants it had.

    ``results`` and ``pictures`` (a directory for QR images) are optional. ``printer``: None prints nothing.
    """

    def __init__(
        self,
        context: Context,
        client: "Client",
        file: str,
        links: Sequence[RecipientLink],
        *,
        known: Sequence[Mapping[str, Any]],
        results: ResultFile | None = None,
        pictures: Path | None = None,
        printer: Emitter | None = None,
    ) -> None:
        self._ctx = context
        self._client = client
        self._file = file
        self._links = links
        self._known = [str(variant.get("uuid")) for variant in known]
        self._variants = list(known)
        self._results = results
        self._pictures = pictures
        self._printer = printer
        self._reported: list[RecipientLink] = []

    def run(self) -> ExitCode:
        """Create and print all links; return 0, or 12 if some failed.

        An error that stops the run is raised after all finished rows are printed and in the result file.
        """
        wanted = [link for link in self._links if link.is_wanted]
        self._announce(len(wanted))
        self._save()
        try:
            with progress.show_progress(self._ctx, "links", len(wanted) or None, counted=True) as bar:
                for link in self._links:
                    self._process_link(link, bar)
        finally:
            self._finish()
        self._summarize()
        whole = all(link.variant is not None or link.status == DUPLICATE for link in self._links)
        return ExitCode.OK if whole else ExitCode.PARTIAL

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Return the rows of ``--json``: Variants with ``row`` and ``status``, and failures with ``error``."""
        return [_build_row(link) for link in self._reported]

    def _announce(self, wanted: int) -> None:
        seconds = self._client.duration(wanted)
        if seconds >= _ANNOUNCE_SECONDS:
            took = format_duration(int(seconds * 1000))
            self._ctx.note(f"creating {wanted} links takes about {took}: the server limits requests per minute")

    def _process_link(self, link: RecipientLink, bar: progress.Progress) -> None:
        before = link.result()
        if link.is_wanted:
            self._create(link, bar)
            bar.advance(1)
        if link.variant is not None and self._pictures is not None:
            link.picture = save_qr_image(self._pictures, link.recipient.label, link.variant)
        if link.result() != before:
            self._save()
        self._reported.append(link)
        if self._printer is not None and not self._is_buffered:
            bar.close()
            self._print(link)

    def _create(self, link: RecipientLink, bar: progress.Progress) -> None:
        self._client.pace(quiet=True)
        recipient = link.recipient
        link.status = SENDING  # if the program crashes now, the next run must know that the link may exist
        self._save()
        try:
            variant = self._client.variants.create(self._file, recipient.label, recipient.overrides, known=self._known)
        except (Problem, ClientError, Stop) as error:
            link.error = str(error)
            if exit_code(error) in _FATAL_CODES:
                link.status = SENDING if exit_code(error) == ExitCode.UNKNOWN_OUTCOME else PENDING
                self._save()
                raise
            link.status = FAILED
            failure = failures.describe(self._ctx, error)
            link.error_json = failures.build_error_object(self._ctx, failure)
            bar.close()
            self._ctx.err(f"error: {recipient.display_name}: {failure.detail}", "error")
            return
        link.status = RECOVERED if variant.get("recovered") else CREATED
        link.variant, link.error = variant, ""
        if variant.get("downloadWarning"):
            bar.close()
            self._ctx.warn(f"{recipient.display_name}: {variant['downloadWarning']}")
        self._variants.insert(0, variant)

    def _save(self) -> None:
        if self._results is not None:
            self._results.write([(link.recipient, link.result()) for link in self._links])

    def _print(self, link: RecipientLink) -> None:
        assert self._printer is not None
        if link.variant is not None or self._printer.format in ("csv", "tsv", "jsonl"):
            self._printer.emit_row(_build_row(link))

    @property
    def _is_buffered(self) -> bool:
        """Return whether the format needs all rows before it prints one."""
        return self._printer is not None and self._printer.format in ("json", "table")

    def _finish(self) -> None:
        cache.remember_variants(self._ctx, self._variants)
        if self._printer is not None and (self._printer.format == "json" or (self._reported and self._is_buffered)):
            self._printer.emit(self.rows())
        left = [link for link in self._links if link.is_wanted]
        if left and self._results is not None:
            self._ctx.warn(f"{len(left)} links remain; run the same command again to continue")

    def _summarize(self) -> None:
        counts = Counter("done before" if link.is_from_earlier_run else link.status for link in self._links)
        self._ctx.note(", ".join(f"{count} {status}" for status, count in counts.items()))


def _build_row(link: RecipientLink) -> Mapping[str, Any]:
    row: dict[str, Any] = dict(link.variant or {"label": link.recipient.label})
    row |= {"row": link.recipient.row, "status": link.status}
    if link.picture:
        row["qr"] = link.picture
    return {**row, "error": link.error_json} if link.error_json else row
