"""The ledger of ``docshare upload --manifest``: a line of JSON per upload, so that a second run skips what is done."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.sources import Item
from docshare.cli.local.storage import write_error
from docshare.contract.wire import instant

Entry = dict[str, Any]

_REQUIRED_KEYS = ("path", "sha256", "uuid", "shareUrl")
_STORED_KEYS = ("path", "sha256", "size", "uuid", "shortId", "shareUrl", "contentVersion")


class UploadManifest:
    """The ledger at ``path``. Entries are found by the path as it was given, so that a checkout can move."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries: dict[str, Entry] = {}
        self._torn: int | None = None  # where a last line begins that a crash cut short

    def load(self) -> "UploadManifest":
        """Read what is there. Stop (2) for a line that is no entry; a last line cut short by a crash does not count."""
        try:
            raw = self._path.read_bytes()
        except FileNotFoundError:
            return self
        except OSError as error:
            raise Stop(ExitCode.USAGE, f"cannot read the manifest {self._path}: {error.strerror or error}") from error
        *lines, rest = raw.split(b"\n")
        if rest:
            self._torn = len(raw) - len(rest)
        for number, line in enumerate(lines, 1):
            if line.strip():
                self._note(self._parsed(line, number))
        return self

    def latest(self, path: str) -> Entry | None:
        """The last entry under ``path``, whatever the bytes were, or None."""
        return self._entries.get(_normalize_path(path))

    def entry_for(self, item: Item) -> Entry | None:
        """The entry of an earlier upload of the same bytes under the same path, or None. Raises OSError."""
        entry = self.latest(item.path)
        if entry is None or entry.get("size") != item.size:
            return None
        return entry if item.sha256() == entry["sha256"] else None

    def add(self, row: Mapping[str, Any], now: int) -> None:
        """Append an upload that succeeded; on disk when this returns. ``now`` in milliseconds since 1970."""
        entry = {key: row[key] for key in _STORED_KEYS if key in row} | {"at": instant(now)}
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with open(descriptor, "ab") as file:
                if self._torn is not None:
                    file.truncate(self._torn)
                file.write(json.dumps(entry).encode() + b"\n")
                file.flush()
                os.fsync(descriptor)
        except OSError as error:
            raise write_error(self._path, error) from error
        self._torn = None
        self._note(entry)

    def _parsed(self, line: bytes, number: int) -> Entry:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            entry = None
        if not isinstance(entry, dict) or not all(isinstance(entry.get(key), str) for key in _REQUIRED_KEYS):
            raise Stop(ExitCode.USAGE, f"line {number} of {self._path} is no entry of a manifest")
        return entry

    def _note(self, entry: Entry) -> None:
        self._entries[_normalize_path(entry["path"])] = entry


def _normalize_path(path: str) -> str:
    return os.path.normpath(path)
