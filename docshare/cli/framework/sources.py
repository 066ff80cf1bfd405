"""What ``docshare upload`` is to send: paths, lists of paths, folders and stdin, and the checks that need no server."""

import io
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

from docshare.cli.framework.context import binary_stream
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import STDIN, read_bytes
from docshare.cli.terminal.text import format_distinct_sizes
from docshare.client.errors import Refused
from docshare.contract.media import DOCUMENTS, HEAD_BYTES, detect_document, zip_kind
from docshare.contract.plans import PLAN_LIMITS, Plan

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.client import Client

DEFAULT_PATTERNS = tuple(f"*{document.extension}" for document in DOCUMENTS.values())
_BLOCK = 1024 * 1024  # bytes
_CONTAINERS = {"zip": (".docx", ".pptx"), "ole": (".ppt",)}  # what a container may be, if its name says so
# Commands with -r, with stdin as a document, and with --no-check: hints must fit the command.
_RECURSIVE_COMMANDS, _STDIN_COMMANDS, _NO_CHECK_COMMANDS = ("upload",), ("upload", "push"), ("upload", "replace")
_MIN_PLAN_LIMIT = min(limits.stored_bytes for limits in PLAN_LIMITS.values())
_MAX_PLAN_LIMIT = max(limits.stored_bytes for limits in PLAN_LIMITS.values())


class Item(NamedTuple):
    """One file to send: the ``path`` as it was given, the ``name`` that readers will see, its ``size`` in bytes.

    ``spool`` holds the bytes that came from stdin. ``kind`` is a key of ``DOCUMENTS``, or None if it was not looked at.
    ``refusal``: why it cannot be sent.
    """

    path: str
    name: str
    size: int = 0
    spool: BinaryIO | None = None
    kind: str | None = None
    refusal: Stop | None = None

    def open(self) -> io.RawIOBase:
        """The file, unbuffered and at its start; closing it leaves a spool open. Raises OSError."""
        if self.spool is None:
            return io.FileIO(self.path, "rb")
        file = io.FileIO(os.dup(self.spool.fileno()), "rb")
        file.seek(0)
        return file

    def sha256(self) -> str:
        """The hex digest of its bytes. Raises OSError."""
        import hashlib

        with self.open() as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


def compute_digest(item: Item) -> str:
    """The hex SHA-256 of what is to be sent; Stop (2) if it cannot be read."""
    try:
        return item.sha256()
    except OSError as error:
        why = f"{item.path} cannot be read: {error.strerror or error}"
        raise Stop(ExitCode.USAGE, why, code="local_file") from error


def read_paths(context: "Context", source: str, *, null: bool) -> list[str]:
    """The paths in a file (``-``: stdin), one per line or, with ``null``, ended by NUL; empty ones do not count."""
    raw = read_bytes(context, source, "--files-from")
    lines = raw.split(b"\0") if null else [line.rstrip(b"\r") for line in raw.split(b"\n")]
    return [os.fsdecode(line) for line in lines if line]


def spool_stdin(context: "Context", name: str, held: ExitStack) -> Item:
    """Stdin as an item: its length must be known before it is sent, and a repetition must be able to start anew."""
    import tempfile

    spool = held.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - ``held`` closes it
    source = binary_stream(context.stdin)
    while block := source.read(_BLOCK):
        spool.write(block)
    spool.flush()
    return Item(STDIN, name, size=spool.tell(), spool=spool)


def expand_folders(paths: Iterable[str], *, recursive: bool, include: Sequence[str]) -> Iterator[str]:
    """The paths with folders replaced by the files in them, sorted; hidden ones are left out."""
    for path in paths:
        if recursive and os.path.isdir(path):
            yield from _walk_folder(path, [pattern.lower() for pattern in include or DEFAULT_PATTERNS])
        else:
            yield path


def _walk_folder(folder: str, patterns: Sequence[str]) -> Iterator[str]:
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and any(fnmatch(name.lower(), pattern) for pattern in patterns):
                yield os.path.join(where, name)


def build_items(paths: Sequence[str], name: str | None, *, command: str = "upload") -> list[Item]:
    """Each path as an item with its size, or with the reason why there is nothing to send, which hints at what
    ``command`` could do about it. Stop (2) if two paths are one file."""
    items, known = [], dict[tuple[int, int], str]()
    for path in paths:
        item = Item(path, name or os.path.basename(path))
        try:
            facts = os.stat(path)
        except OSError as error:
            items.append(_reject(item, f"cannot be read: {error.strerror or error}"))
            continue
        identity = (facts.st_dev, facts.st_ino)
        if identity in known:
            raise Stop(ExitCode.USAGE, f"{known[identity]} and {path} are the same file")
        known[identity] = path
        items.append(_check_file_type(item._replace(size=facts.st_size), facts.st_mode, command))
    return items


def _check_file_type(item: Item, mode: int, command: str) -> Item:
    if stat.S_ISDIR(mode):
        return _reject(
            item,
            "is a folder",
            hint=_select_hint("Use -r to upload the documents in it.", command, _RECURSIVE_COMMANDS),
        )
    if not stat.S_ISREG(mode):
        way = f"Pipe it in: docshare {command} {STDIN} --name NAME"
        return _reject(item, "is no ordinary file", hint=_select_hint(way, command, _STDIN_COMMANDS))
    return item


def _select_hint(text: str, command: str, fitting: Sequence[str]) -> str:
    return text if command in fitting else ""


def check_item(item: Item, *, command: str = "upload") -> Item:
    """``item`` after a look at its bytes: with its kind, or with the reason why the server would not take it, which
    hints at what ``command`` could do about it."""
    if item.refusal is not None:
        return item
    if command != "lint" and any(ord(char) < 32 or ord(char) == 127 for char in item.name):
        return _reject(item, "has a name with control characters", hint="Give it another one, here or with --name.")
    if item.size == 0:
        return _reject(item, "is empty")
    try:
        with item.open() as file:
            head = file.read(HEAD_BYTES) or b""
            kind = _detect_kind(head, item.name) or _detect_zip_kind(head, file)
    except OSError as error:
        return _reject(item, f"cannot be read: {error.strerror or error}")
    if kind == "doc":
        return _reject(item, "is a .doc file of old", hint="Save it as .docx or PDF.")
    if kind is None:
        hint = _select_hint("--no-check lets the server decide.", command, _NO_CHECK_COMMANDS)
        return _reject(item, "is no PDF, Word (.docx) or PowerPoint file", hint=hint)
    cap = DOCUMENTS[kind].cap or _MAX_PLAN_LIMIT
    if item.size > cap:
        size, most = format_distinct_sizes(item.size, cap)
        return _reject(item, f"has {size}; a {DOCUMENTS[kind].extension} file may have {most}")
    return item._replace(kind=kind)


def _detect_kind(head: bytes, name: str) -> str | None:
    kind = detect_document(head)
    if kind not in _CONTAINERS:
        return kind
    extension = os.path.splitext(name)[1].lower()
    if extension == ".doc":
        return "doc"
    return extension[1:] if extension in _CONTAINERS[kind] else None


def _detect_zip_kind(head: bytes, file: io.RawIOBase) -> str | None:
    """What a zip file is by its directory, as the server looks at it: the name says nothing."""
    if detect_document(head) != "zip":
        return None
    from zipfile import BadZipFile, ZipFile

    try:
        with ZipFile(cast(BinaryIO, file)) as package:
            return zip_kind(package.namelist())
    except (BadZipFile, ValueError, NotImplementedError):
        return None


def fetch_plan(client: "Client") -> Plan | None:
    """The plan of the account; None where the credential may not ask or the server names one unknown here, which leaves
    the judgement to the server."""
    try:
        account = client.account.show()
    except Refused as refusal:
        if refusal.code != "insufficient_scope":
            raise
        return None
    return parse_plan(account)


def parse_plan(account: Mapping[str, Any]) -> Plan | None:
    """The plan of an account; None for one unknown here."""
    tier = account.get("tier") or account.get("subscription")
    return next((plan for plan in Plan if plan.tier == tier), None)


def check_plan_limits(client: "Client", items: Sequence[Item]) -> list[Item]:
    """The items, those refused that are larger than the account's plan stores. The account is asked only if there is a
    PDF that some plan would not take; a credential that may not ask (scope) leaves it to the server."""
    if not any(item.kind == "pdf" and item.size > _MIN_PLAN_LIMIT for item in items):
        return list(items)
    try:
        account = client.account.show()
    except Refused as refusal:
        if refusal.code != "insufficient_scope":
            raise
        return list(items)
    tier = str(account.get("tier") or account.get("subscription") or "")
    cap = (account.get("limits") or {}).get("maxUploadBytes") or _find_size_limit(tier)
    plan = tier or "current"
    return [_reject_oversized(item, plan, cap) if item.kind == "pdf" and item.size > cap else item for item in items]


def _reject_oversized(item: Item, plan: str, cap: int) -> Item:
    size, most = format_distinct_sizes(item.size, cap)
    return _reject(item, f"has {size}; the {plan} plan stores files up to {most}")


def _find_size_limit(tier: str) -> int:
    return next((PLAN_LIMITS[plan].stored_bytes for plan in Plan if plan.tier == tier), _MAX_PLAN_LIMIT)


def _reject(item: Item, why: str, *, hint: str = "") -> Item:
    label = "stdin" if item.path == STDIN else item.path
    return item._replace(refusal=Stop(ExitCode.USAGE, f"{label} {why}", hint=hint, code="local_file"))
