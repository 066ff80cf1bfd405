"""The output of ``docshare upload``: one link per line for scripts, link and facts for people, JSON for both."""

from collections.abc import Sequence
from typing import Any

from docshare.cli.commands.upload.rows import is_plain_requested, print_warnings
from docshare.cli.commands.upload.send import Failure, Row, UploadResult
from docshare.cli.commands.upload.settings import DEFAULT_FACTS, NewSettings, SettingsWriteError
from docshare.cli.framework import failures
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, exit_code
from docshare.cli.framework.sources import Item
from docshare.cli.local import cache
from docshare.cli.terminal.output import Emitter


class UploadReport:
    """Prints results in the order of ``items`` (JSON lines as they arrive) and counts them.

    ``settings``: the settings that every new file gets.
    """

    def __init__(
        self,
        context: Context,
        printer: Emitter,
        items: Sequence[Item],
        *,
        single: bool,
        settings: NewSettings | None,
    ) -> None:
        self._ctx = context
        self._printer = printer
        self._items = items
        self._single = single
        self._settings = settings
        self._facts = DEFAULT_FACTS if settings is None else settings.describe(context)
        self._results: dict[int, Row] = {}
        self._failures: list[Failure] = []
        self._succeeded: dict[int, Row] = {}
        self._printed_count = 0

    @property
    def links(self) -> list[str]:
        """Return the share links in order."""
        return [str(row.get("url") or row["shareUrl"]) for _, row in sorted(self._succeeded.items())]

    def add(self, done: UploadResult) -> None:
        """Record one result and print what is due. Raise the failure of a single upload as the command's own."""
        if done.failure is not None:
            kept = done.failure.row if isinstance(done.failure, SettingsWriteError) else None
            if self._single:
                if kept is not None and self._printer.format in ("json", "jsonl"):
                    self._printer.emit(kept)  # a program must learn about the file that was kept
                raise done.failure
            self._failures.append(done.failure)
            row = {"path": self._items[done.index].path, **(kept or {}), "error": self._report_failure(done)}
        else:
            assert done.row is not None
            row = self._succeeded[done.index] = done.row
            if row.get("recovered"):
                self._ctx.note(f"the response was lost, but {row['path']} was uploaded")
            print_warnings(self._ctx, str(row["path"]), row)
        self._results[done.index] = row
        if self._printer.format == "jsonl":
            self._printer.emit_row(row)
        elif self._printer.format != "json":
            self._print_due()

    def finish(self) -> None:
        """Print the rest: the whole of ``--json``, or the lines after one that never arrived."""
        if self._succeeded:
            cache.remember_last_upload(self._ctx, self._succeeded[max(self._succeeded)])
        if self._printer.format == "json":
            rows = [row for _, row in sorted(self._results.items())]
            if rows or not self._single:
                self._printer.emit(rows[0] if self._single else rows)
        elif self._printer.format != "jsonl":
            for index in sorted(self._results.keys() - range(self._printed_count)):
                self._print(index)

    def exit_code(self) -> ExitCode:
        """Return 0, 12 if only some files failed, or the shared code if all failed with the same one."""
        left = len(self._items) - len(self._succeeded) - len(self._failures)
        if left:
            self._ctx.warn(f"{left} of {len(self._items)} files were not attempted")
        older = sum("settingsApplied" not in row for row in self._succeeded.values())
        if self._settings is not None and older:
            self._ctx.warn(f"{older} of {len(self._items)} files already existed and keep their settings")
        if not self._failures:
            return ExitCode.OK
        codes = {exit_code(failure) for failure in self._failures}
        return codes.pop() if len(codes) == 1 and not self._succeeded else ExitCode.PARTIAL

    def _report_failure(self, done: UploadResult) -> dict[str, Any]:
        assert done.failure is not None
        failure = failures.describe(self._ctx, done.failure)
        path = self._items[done.index].path
        label = failure.detail if failure.detail.startswith(path) else f"{path}: {failure.detail}"
        self._ctx.err(f"error: {label}" + (f" ({failure.hint})" if failure.hint else ""), "error")
        return failures.build_error_object(self._ctx, failure)

    def _print_due(self) -> None:
        while self._printed_count in self._results:
            self._print(self._printed_count)
            self._printed_count += 1

    def _print(self, index: int) -> None:
        row, item = self._results[index], self._items[index]
        if "error" not in row:
            status = next((word for word in ("skipped", "updated", "recovered") if row.get(word)), "uploaded")
            shown = {**row, "shareUrl": row["url"]} if "url" in row else row  # prefer the custom link
            self._printer.emit_row({**shown, "name": item.name, "status": status, "facts": self._facts})
        elif self._has_status_column:
            self._printer.emit_row({"path": item.path, "status": row["error"]["code"]})

    @property
    def _has_status_column(self) -> bool:
        """Return whether the format has a column that can report a missing link."""
        return self._printer.format in ("csv", "tsv") or is_plain_requested(self._ctx)
