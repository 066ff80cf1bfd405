"""Upload files one at a time or in parallel, and return the result or the failure of each."""

import queue
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.upload.file_limit import is_at_file_limit
from docshare.cli.commands.upload.manifest import Entry, UploadManifest
from docshare.cli.commands.upload.new_version import ProgressCallback, make_progress_callback, replace_content
from docshare.cli.commands.upload.settings import NewSettings, SettingsWriteError
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.sources import Item
from docshare.cli.terminal import progress
from docshare.client.errors import ClientError, NotConnected, RateLimited, Redirected, Refused
from docshare.contract.problems import Problem

if TYPE_CHECKING:
    from docshare.client import Client

Row = dict[str, Any]
Failure = Problem | ClientError | Stop


@dataclass(frozen=True, eq=False, repr=False)
class UploadResult:
    """The outcome of the ``index``-th item: its ``row``, or its ``failure``."""

    index: int
    row: Row | None = None
    failure: Failure | None = None


@dataclass(frozen=True)
class SkipRules:
    """Files to skip: those in the ``manifest``, and those in ``existing`` (the account's, by name and size).

    ``update``: a file that the manifest lists with other bytes becomes the next version of that file.
    """

    manifest: UploadManifest | None
    existing: Mapping[tuple[str, int], Mapping[str, Any]]
    update: bool = False

    def find_row(self, item: Item) -> Row | None:
        """Return the earlier result for ``item``, or None. Raises OSError."""
        entry: Mapping[str, Any] | None = None if self.manifest is None else self.manifest.entry_for(item)
        entry = entry or self.existing.get((item.name, item.size))
        if entry is None:
            return None
        kept: Row = {key: entry[key] for key in ("uuid", "shortId", "shareUrl", "sha256") if key in entry}
        return {**kept, "path": item.path, "size": item.size, "skipped": True}

    def find_outdated(self, item: Item) -> Entry | None:
        """Return the entry of the file that ``item`` should replace, or None. ``item`` must not be skipped."""
        return self.manifest.latest_entry(item.path) if self.update and self.manifest is not None else None


class Uploader:
    """Uploads ``items`` over ``jobs`` connections.

    ``digest``: put the SHA-256 in each row. ``fail_fast``: start no upload after a failure; without it, this holds
    only for failures that every further file would repeat. ``settings``: applied to each new file.
    """

    def __init__(
        self,
        context: Context,
        client: "Client",
        items: Sequence[Item],
        skips: SkipRules,
        *,
        jobs: int,
        fail_fast: bool,
        digest: bool,
        settings: NewSettings | None = None,
    ) -> None:
        self._ctx = context
        self._client = client
        self._items = items
        self._skips = skips
        self._jobs = min(jobs, len(items))
        self._fail_fast = fail_fast
        self._digest = digest
        self._settings = settings
        self._pending_indexes = iter(range(len(items)))
        self._lock = threading.Lock()

    def run(self) -> Iterator[UploadResult]:
        """Yield each result as it arrives; items that were not started have none."""
        found = self._run_sequentially() if self._jobs <= 1 else self._run_in_parallel()
        try:
            for done in found:
                if done.failure is not None and (self._fail_fast or _is_fatal(done.failure)):
                    self._clear_queue()
                yield done
        finally:
            self._clear_queue()

    def _clear_queue(self) -> None:
        with self._lock:
            self._pending_indexes = iter(())

    def _take_next(self) -> int | None:
        with self._lock:
            return next(self._pending_indexes, None)

    def _run_sequentially(self) -> Iterator[UploadResult]:
        while (index := self._take_next()) is not None:
            item = self._items[index]
            label = item.name if len(self._items) == 1 else f"{index + 1}/{len(self._items)} {item.name}"
            with progress.show_progress(self._ctx, label, item.size) as bar:
                done = self._try_item(self._client, index, make_progress_callback(bar, item.size, item.name))
            yield done

    def _run_in_parallel(self) -> Iterator[UploadResult]:
        results: queue.SimpleQueue[UploadResult | BaseException | None] = queue.SimpleQueue()
        total = sum(item.size for item in self._items)
        with progress.show_progress(self._ctx, f"{len(self._items)} files", total) as bar:
            shares = _CombinedProgress(bar, total)
            for _ in range(self._jobs):
                # Daemon threads, so that Ctrl-C ends the process and its uploads at once.
                threading.Thread(target=self._run_worker, args=(results, shares), daemon=True).start()
            running = self._jobs
            while running:
                result = results.get()
                if result is None:
                    running -= 1
                elif isinstance(result, BaseException):
                    raise result
                else:
                    bar.close()
                    yield result

    def _run_worker(
        self, results: queue.SimpleQueue[UploadResult | BaseException | None], shares: "_CombinedProgress"
    ) -> None:
        try:
            with self._client.fork() as client:
                while (index := self._take_next()) is not None:
                    results.put(self._try_item(client, index, shares.make_callback(index)))
        except BaseException as error:  # noqa: BLE001 - it belongs to the main thread
            results.put(error)
        results.put(None)

    def _try_item(self, client: "Client", index: int, report: ProgressCallback) -> UploadResult:
        try:
            return UploadResult(index, row=self._send(client, self._items[index], report))
        except Refused as refusal:
            if refusal.code == "forbidden" and refusal.path == "/api/v1/files":
                refusal.is_at_file_limit = is_at_file_limit(client)
            return UploadResult(index, failure=refusal)
        except (Problem, ClientError, Stop) as failure:
            return UploadResult(index, failure=failure)
        except OSError as error:
            why = f"cannot read {self._items[index].path}: {error.strerror or error}"
            return UploadResult(index, failure=Stop(ExitCode.USAGE, why, code="local_file"))

    def _send(self, client: "Client", item: Item, report: ProgressCallback) -> Row:
        if item.refusal is not None:
            raise item.refusal
        skipped = self._skips.find_row(item)
        if skipped is not None:
            return skipped
        if len(self._items) > 1:
            client.pace()
        known = self._skips.find_outdated(item)
        updated = None if known is None else self._update(client, item, known, report)
        if updated is not None:
            return updated
        with item.open() as file:
            result: dict[str, Any] = {**client.files.upload(file, item.name, progress=report, digest=self._digest)}
        digest = {"sha256": result.pop("sha256")} if self._digest else {}
        row = {**result, "path": item.path, "size": item.size, **digest}
        return row if self._settings is None else {**self._settings.apply(client, row)}

    def _update(self, client: "Client", item: Item, known: Entry, report: ProgressCallback) -> Row | None:
        """Upload the document as the next version of ``known``; None if that file is gone and needs a new upload."""
        try:
            result = replace_content(self._ctx, client, known["uuid"], item, digest=self._digest, report=report)
        except Refused as refusal:
            if refusal.status != 404:
                raise
            return None
        link: Row = {key: known[key] for key in ("uuid", "shortId", "shareUrl") if key in known}
        return {**result, **link, "path": item.path, "size": item.size, "updated": True}


class _CombinedProgress:
    """One progress bar for several parallel uploads of ``total`` bytes together."""

    def __init__(self, bar: progress.Progress, total: int) -> None:
        self._report = make_progress_callback(bar, total)
        self._sent_bytes: dict[int, int] = {}
        self._lock = threading.Lock()

    def make_callback(self, index: int) -> ProgressCallback:
        """Return the progress callback of one file."""

        def report(sent: int) -> None:
            with self._lock:
                self._sent_bytes[index] = sent
                self._report(sum(self._sent_bytes.values()))

        return report


def _is_fatal(failure: Failure) -> bool:
    """Return whether every further file would fail for the same reason."""
    if isinstance(failure, Refused):
        lacking = failure.status == 401 or failure.code == "insufficient_scope"
        return lacking or failure.is_at_file_limit or isinstance(failure, RateLimited)
    return isinstance(failure, NotConnected | Redirected) or (
        isinstance(failure, SettingsWriteError) and failure.is_fatal
    )
