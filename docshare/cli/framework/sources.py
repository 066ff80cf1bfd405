"""The inputs of ``docshare upload``: paths, path lists, directories and stdin, and the checks that need no server."""

import io
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

from docshare.cli.framework.context import Context, binary_stream
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import STDIN, read_bytes
from docshare.client.errors import Refused
from docshare.contract.amounts import format_distinct_sizes
from docshare.contract.media import DOCUMENTS, HEAD_BYTES, detect_document_type, detect_zip_type
from docshare.contract.names import clean_name
from docshare.contract.plans import PLAN_LIMITS, Plan

if TYPE_CHECKING:
    from docshare.client import Client

DEFAULT_PATTERNS = tuple(f"*{document.extension}" for document in DOCUMENTS.values())
_BLOCK = 1024 * 1024  # bytes
_CONTAINERS = {"zip": (".docx", ".pptx"), "ole": (".ppt",)}  # possible documents in a container, by file name
# Commands with -r, with stdin as a document, and with --no-check: hints must fit the command.
_RECURSIVE_COMMANDS, _STDIN_COMMANDS, _NO_CHECK_COMMANDS = ("upload",), ("upload", "push"), ("upload", "replace")
_MIN_PLAN_LIMIT = min(limits.stored_bytes for limits in PLAN_LIMITS.values())
_MAX_PLAN_LIMIT = max(limits.stored_bytes for limits in PLAN_LIMITS.values())


class Item(NamedTuple):
    """One file to upload: the ``path`` as given, the ``name`` shown to readers, its ``size`` in bytes.

    ``spool``: the bytes from stdin; ``kind``: a key of ``DOCUMENTS``, or None if unchecked; ``refusal``: why it cannot
    be uploaded.
    """

    path: str
    name: str
    size: int = 0
    spool: BinaryIO | None = None
    kind: str | None = None
    refusal: Stop | None = None

    def open(self) -> io.RawIOBase:
        """Open the file unbuffered at its start; closing it keeps a spool open. Raises OSError."""
        if self.spool is None:
            return io.FileIO(self.path, "rb")
        file = io.FileIO(os.dup(self.spool.fileno()), "rb")
        file.seek(0)
        return file

    def sha256(self) -> str:
        """Return the hex digest of its bytes. Raises OSError."""
        import hashlib

        with self.open() as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


def compute_digest(item: Item) -> str:
    """Return the hex SHA-256 of the file to upload; raise Stop (2) if it cannot be read."""
    try:
        return item.sha256()
    except OSError as error:
        why = f"cannot read {item.path}: {error.strerror or error}"
        raise Stop(ExitCode.USAGE, why, code="local_file") from error


def read_paths(context: Context, source: str, *, null: bool) -> list[str]:
    """Return the paths in a file (``-``: stdin), one per line or, with ``null``, ended by NUL; skip empty ones.

    Raise Stop (2) if it cannot be read, or has a NUL without ``null``.
    """
    raw = read_bytes(context, source, "--files-from")
    if b"\0" in raw and not null:
        raise Stop(
            ExitCode.USAGE, f"--files-from: {source} has NUL characters", hint="Use -0 if its paths end with NUL."
        )
    lines = raw.split(b"\0") if null else [line.rstrip(b"\r") for line in raw.split(b"\n")]
    return [os.fsdecode(line) for line in lines if line]


def spool_stdin(context: Context, name: str, held: ExitStack) -> Item:
    """Return stdin as an item, spooled because its size must be known and a retry must start over."""
    import tempfile

    spool = held.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - ``held`` closes it
    source = binary_stream(context.stdin)
    while block := source.read(_BLOCK):
        spool.write(block)
    spool.flush()
    return Item(STDIN, name, size=spool.tell(), spool=spool)


def expand_folders(paths: Iterable[str], *, recursive: bool, include: Sequence[str]) -> Iterator[str]:
    """Yield the paths, with directories replaced by the files in them, sorted and without hidden files."""
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
    """Return each path as an item with its size, or with the reason why it cannot be uploaded.

    The hints suggest what ``command`` offers. Raise Stop (2) if two paths are the same file.
    """
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
            "is a directory",
            hint=_select_hint("Use -r to upload the documents in it.", command, _RECURSIVE_COMMANDS),
        )
    if not stat.S_ISREG(mode):
        way = f"Pipe it in: docshare {command} {STDIN} --name NAME"
        return _reject(item, "is not a regular file", hint=_select_hint(way, command, _STDIN_COMMANDS))
    return item


def _select_hint(text: str, command: str, fitting: Sequence[str]) -> str:
    return text if command in fitting else ""


def check_item(item: Item, *, command: str = "upload") -> Item:
    """Return ``item`` with the kind found from its bytes, or with the reason why the server would refuse it.

    The hints suggest what ``command`` offers.
    """
    if item.refusal is not None:
        return item
    stored_name = item.name if command == "lint" else clean_name(item.name)
    if stored_name != item.name:
        return _reject(item, f"would be stored as {stored_name!r}", hint="Rename it, or use --name.")
    if item.size == 0:
        return _reject(item, "is empty")
    try:
        with item.open() as file:
            head = file.read(HEAD_BYTES) or b""
            kind = _detect_kind(head, item.name) or _detect_zip_kind(head, file)
    except OSError as error:
        return _reject(item, f"cannot be read: {error.strerror or error}")
    if kind == "doc":
        return _reject(item, "is a legacy .doc file", hint="Save it as .docx or PDF.")
    if kind is None:
        hint = _select_hint("With --no-check, only the server decides.", command, _NO_CHECK_COMMANDS)
        return _reject(item, "is not a PDF, Word (.docx) or PowerPoint file", hint=hint)
    cap = DOCUMENTS[kind].cap or _MAX_PLAN_LIMIT
    if item.size > cap:
        size, most = format_distinct_sizes(item.size, cap)
        return _reject(item, f"is {size}; the limit for {DOCUMENTS[kind].extension} is {most}")
    return item._replace(kind=kind)


def _detect_kind(head: bytes, name: str) -> str | None:
    kind = detect_document_type(head)
    if kind not in _CONTAINERS:
        return kind
    extension = os.path.splitext(name)[1].lower()
    if extension == ".doc":
        return "doc"
    return extension[1:] if extension in _CONTAINERS[kind] else None


def _detect_zip_kind(head: bytes, file: io.RawIOBase) -> str | None:
    """Return the kind of a zip file from its directory, as the server does; the file name does not count."""
    if detect_document_type(head) != "zip":
        return None
    from zipfile import BadZipFile, ZipFile

    try:
        with ZipFile(cast(BinaryIO, file)) as package:
            return detect_zip_type(package.namelist())
    except (BadZipFile, ValueError, NotImplementedError):
        return None


def fetch_plan(client: "Client") -> Plan | None:
    """Return the account's plan; None if the credential lacks the scope or the plan is unknown here.

    The server then decides by itself.
    """
    try:
        account = client.account.show()
    except Refused as refusal:
        if refusal.code != "insufficient_scope":
            raise
        return None
    return parse_plan(account)


def parse_plan(account: Mapping[str, Any]) -> Plan | None:
    """Return the plan of an account; None if it is unknown here."""
    tier = account.get("tier") or account.get("subscription")
    return next((plan for plan in Plan if plan.tier == tier), None)


def check_plan_limits(client: "Client", items: Sequence[Item]) -> list[Item]:
    """Return the items, with a refusal for each that is too large for the account's plan.

    Fetch the account only if some plan would refuse one of the PDFs; without the scope, leave it to the server.
    """
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
    return _reject(item, f"is {size}; the {plan} plan allows up to {most}")


def _find_size_limit(tier: str) -> int:
    return next((PLAN_LIMITS[plan].stored_bytes for plan in Plan if plan.tier == tier), _MAX_PLAN_LIMIT)


def _reject(item: Item, why: str, *, hint: str = "") -> Item:
    label = "stdin" if item.path == STDIN else item.path
    return item._replace(refusal=Stop(ExitCode.USAGE, f"{label} {why}", hint=hint, code="local_file"))
