"""Record the webhooks of ``docshare webhooks listen --public-url`` while it runs, so that ``webhooks prune`` can delete
those left behind by a crash."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local.storage import hold_lock, replace_file

if TYPE_CHECKING:
    from pathlib import Path

    from docshare.cli.framework.context import Context

Entry = dict[str, Any]  # {uuid, origin, profile, url, createdAt}; profile is null if none was in effect


def load_orphans(context: "Context") -> list[Entry]:
    """Return the recorded webhooks that no process uses, oldest first. Raise Stop (2) if the file cannot be read."""
    return [entry for entry in _read(_path(context)) if not _is_in_use(context, str(entry.get("uuid")))]


@contextmanager
def register(context: "Context", entry: Entry) -> Iterator[None]:
    """Record a new webhook, and mark it as in use during the block. The record stays until ``remove``.

    Raise Stop (2) if the file cannot be written.
    """
    with hold_lock(
        _lock_path(context, str(entry["uuid"]))
    ):  # the kernel releases it when the process ends, even by a crash
        _update(context, lambda entries: [*entries, entry])
        yield


def remove(context: "Context", uuid: str) -> None:
    """Delete the record of a webhook."""
    _update(context, lambda entries: [entry for entry in entries if entry.get("uuid") != uuid])
    with suppress(OSError):
        _lock_path(context, uuid).unlink()


def _path(context: "Context") -> "Path":
    return context.state_dir / "listeners.json"


def _lock_path(context: "Context", uuid: str) -> "Path":
    return context.state_dir / "listeners" / f"{uuid}.lock"


def _is_in_use(context: "Context", uuid: str) -> bool:
    path = _lock_path(context, uuid)
    if not path.is_file():
        return False
    with hold_lock(path, wait=False) as free:
        return not free


def _update(context: "Context", change: Callable[[list[Entry]], list[Entry]]) -> None:
    path = _path(context)
    with hold_lock(context.state_dir / ".lock"):
        replace_file(path, json.dumps(change(_read(path)), indent=2) + "\n", private=True)


def _read(path: "Path") -> list[Entry]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise Stop(
            ExitCode.USAGE, f"cannot read {path}: {error}", hint="Delete the file; only webhooks prune uses it."
        ) from error
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []
