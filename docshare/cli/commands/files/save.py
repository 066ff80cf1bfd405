"""Save a downloaded document under a safe name, completely or not at all."""

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local.storage import write_error
from docshare.cli.terminal import progress
from docshare.cli.terminal.text import clean
from docshare.contract.media import STORED_TYPE
from docshare.private_files import is_special

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.client.files import DownloadedContent

_MAX_NAME_BYTES = 200  # bytes; file systems allow 255, and a suffix may follow
_FORBIDDEN_CHARS = set('<>:"/\\|?*')


def refuse_existing(output: str | None, force: bool) -> None:
    """Raise Stop (2) before the request if ``output`` exists or is empty."""
    if output == "":
        raise Stop(ExitCode.USAGE, "--output is empty", hint="Name a file or a directory.")
    if output not in (None, "-") and os.path.isfile(str(output)) and not force:
        raise _exists_already(output)


def _exists_already(output: str | None) -> Stop:
    return Stop(ExitCode.USAGE, f"{output} already exists", hint="Use --force to overwrite it.")


def choose_name(content: "DownloadedContent") -> str:
    """Return the name to save under, with .pdf appended for a converted document, whose name the server keeps."""
    name = sanitize_name(content.filename or "")
    is_odd = content.type == STORED_TYPE and not name.lower().endswith(".pdf")
    return sanitize_name(f"{name}.pdf") if is_odd else name


def sanitize_name(offered: str) -> str:
    """Return a safe file name: no directories, control characters, leading dots or reserved names."""
    name = offered.replace("\\", "/").rsplit("/", 1)[-1]
    name = "".join(char for char in name if char.isprintable() and char not in _FORBIDDEN_CHARS).strip(" .")
    stem, suffix = os.path.splitext(name)
    while len((stem + suffix).encode()) > _MAX_NAME_BYTES and stem:
        stem = stem[:-1]
    return (stem + suffix) or "document.pdf"


def save(ctx: "Context", content: "DownloadedContent", output: str | None, force: bool) -> tuple[Path, int]:
    """Write ``content`` to ``output``, or under its own name if that is a directory or None; return path and size.

    Unless ``force``, files that other processes created during the download are kept, too: the own name gets a number
    that is free at its end. Raises Stop (2) if ``output`` exists then.
    """
    is_named = output is not None and not os.path.isdir(output)
    path = Path(output or ".") if is_named else Path(output or ".", choose_name(content))
    is_replaceable = is_named and os.path.lexists(path) and not path.is_file()  # a device, a pipe, a link to nothing
    if force or is_replaceable:
        return path, store(ctx, content, path)
    numbered = (path.with_name(f"{path.stem} ({number}){path.suffix}") for number in itertools.count(1))
    with _write_part(ctx, content, path) as (part, size):
        for free in itertools.chain([path], numbered if not is_named else ()):
            if _move_to_free(part, free):
                return free, size
    raise _exists_already(output)


def store(ctx: "Context", content: "DownloadedContent", path: Path) -> int:
    """Write ``content`` to ``path`` and return its size. An interrupted write leaves ``path`` as it was, except for a
    device or pipe."""
    if is_special(path):
        try:
            with open(path, "wb") as out:
                return _write_blocks(ctx, content, out)
        except OSError as error:
            raise write_error(path, error) from error
    with _write_part(ctx, content, path) as (part, size):
        os.replace(part, path)
    return size


@contextmanager
def _write_part(ctx: "Context", content: "DownloadedContent", path: Path) -> Iterator[tuple[Path, int]]:
    """Write ``content`` to a temporary file beside ``path``; yield its path and size, and remove it."""
    part = path.with_name(f".{path.name}.{os.urandom(4).hex()}.part")
    try:
        with open(part, "xb") as out:
            size = _write_blocks(ctx, content, out)
            out.flush()
            os.fsync(out.fileno())
        yield part, size
    except OSError as error:
        raise write_error(path, error) from error
    finally:
        with suppress(OSError):
            part.unlink()


def _move_to_free(part: Path, path: Path) -> bool:
    """Move ``part`` to ``path``; return False if that exists. Raises OSError."""
    try:
        os.link(part, path)  # ``part`` is removed afterwards
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        os.replace(part, path)
    return True


def _write_blocks(ctx: "Context", content: "DownloadedContent", out: IO[bytes]) -> int:
    return sum(out.write(block) for block in track_progress(ctx, content))


def track_progress(ctx: "Context", content: "DownloadedContent") -> Iterator[bytes]:
    """Yield the blocks and show progress. The client checks that all announced bytes arrive."""
    got = 0
    with progress.show_progress(ctx, clean(content.filename or "download"), content.length) as bar:
        for block in content.blocks:
            got += len(block)
            bar.update(got)
            yield block
