"""The manifest of ``docshare upload --manifest``: one JSON line per upload, so that a second run skips it."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.sources import Item
from docshare.cli.local.storage import write_error
from docshare.contract.wire import format_instant

Entry = dict[str, Any]

_REQUIRED_KEYS = ("path", "sha256", "uuid", "shareUrl")
_STORED_KEYS = ("path", "sha256", "size", "uuid", "shortId", "shareUrl", "contentVersion")


class UploadManifest:
    """The manifest at ``path``. Entries are keyed by the path as given, so that a checkout can be moved."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries: dict[str, Entry] = {}
        self._truncate_at: int | None = None  # offset of a last line that a crash cut short

    def load(self) -> "UploadManifest":
        """Read the file. Raise Stop (2) for a malformed line; ignore a last line that a crash cut short."""
        try:
            raw = self._path.read_bytes()
        except FileNotFoundError:
            return self
        except OSError as error:
            raise Stop(ExitCode.USAGE, f"cannot read the manifest {self._path}: {error.strerror or error}") from error
        *lines, rest = raw.split(b"\n")
        if rest:
            self._truncate_at = len(raw) - len(rest)
        for number, line in enumerate(lines, 1):
            if line.strip():
                self._index_entry(self._parse_line(line, number))
        return self

    def latest_entry(self, path: str) -> Entry | None:
        """Return the last entry for ``path``, whatever its content was, or None."""
        return self._entries.get(os.path.normpath(path))

    def entry_for(self, item: Item) -> Entry | None:
        """Return the entry of an earlier upload of the same bytes under the same path, or None. Raises OSError."""
        entry = self.latest_entry(item.path)
        if entry is None or entry.get("size") != item.size:
            return None
        return entry if item.sha256() == entry["sha256"] else None

    def add(self, row: Mapping[str, Any], now: int) -> None:
        """Append a successful upload and flush it to disk. ``now`` in milliseconds since 1970."""
        entry = {key: row[key] for key in _STORED_KEYS if key in row} | {"at": format_instant(now)}
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with open(descriptor, "ab") as file:
                if self._truncate_at is not None:
                    file.truncate(self._truncate_at)
                file.write(json.dumps(entry).encode() + b"\n")
                file.flush()
                os.fsync(descriptor)
        except OSError as error:
            raise write_error(self._path, error) from error
        self._truncate_at = None
        self._index_entry(entry)

    def _parse_line(self, line: bytes, number: int) -> Entry:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            entry = None
        if not isinstance(entry, dict) or not all(isinstance(entry.get(key), str) for key in _REQUIRED_KEYS):
            raise Stop(ExitCode.USAGE, f"line {number} of {self._path} is not a manifest entry")
        return entry

    def _index_entry(self, entry: Entry) -> None:
        self._entries[os.path.normpath(entry["path"])] = entry
