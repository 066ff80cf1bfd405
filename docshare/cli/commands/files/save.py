"""Save a downloaded document under a safe name, completely or not at all."""

import os
from collections.abc import Iterator
from contextlib import suppress
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
    """Raise Stop (2) before the request if ``output`` exists."""
    if output not in (None, "-") and os.path.isfile(str(output)) and not force:
        raise Stop(ExitCode.USAGE, f"{output} already exists", hint="Use --force to overwrite it.")


def choose_name(content: "DownloadedContent") -> str:
    """Return the name to save under, with .pdf appended for a converted document, whose name the server keeps."""
    name = sanitize_name(content.filename or "")
    is_odd = content.type == STORED_TYPE and not name.lower().endswith(".pdf")
    return sanitize_name(f"{name}.pdf") if is_odd else name


def choose_path(output: str | None, name: str, force: bool) -> Path:
    if output is not None and not os.path.isdir(output):
        return Path(output)
    path = Path(output or ".") / name
    number = 0
    while not force and os.path.lexists(path):
        number += 1
        stem, suffix = os.path.splitext(name)
        path = path.with_name(f"{stem} ({number}){suffix}")
    return path


def sanitize_name(offered: str) -> str:
    """Return a safe file name: no directories, control characters, leading dots or reserved names."""
    name = offered.replace("\\", "/").rsplit("/", 1)[-1]
    name = "".join(char for char in name if char.isprintable() and char not in _FORBIDDEN_CHARS).strip(" .")
    stem, suffix = os.path.splitext(name)
    while len((stem + suffix).encode()) > _MAX_NAME_BYTES and stem:
        stem = stem[:-1]
    return (stem + suffix) or "document.pdf"


def store(ctx: "Context", content: "DownloadedContent", path: Path) -> int:
    """Write ``content`` to ``path`` and return its size. An interrupted write leaves ``path`` as it was, except for a
    device or pipe."""
    part = path.with_name(f".{path.name}.{os.urandom(4).hex()}.part")
    try:
        if is_special(path):
            with open(path, "wb") as out:
                return _write_blocks(ctx, content, out)
        with open(part, "xb") as out:
            size = _write_blocks(ctx, content, out)
            out.flush()
            os.fsync(out.fileno())
        os.replace(part, path)
    except OSError as error:
        raise write_error(path, error) from error
    finally:
        with suppress(OSError):
            part.unlink()
    return size


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
