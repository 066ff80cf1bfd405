"""Read inputs other than documents, and protect output files; ``-`` stands for stdin or stdout."""

import io
import os
from collections.abc import Iterator
from typing import IO

from docshare.cli.framework.context import Context, binary_stream
from docshare.cli.framework.exits import ExitCode, Stop

STDIN = STDOUT = "-"
BYTE_ORDER_MARK = "\ufeff"
MAX_INPUT_BYTES = 256 * 1024 * 1024  # an endless input, such as /dev/zero, would otherwise use all memory
_BLOCK = 1024 * 1024  # bytes
MAX_LINE_CHARS = 16 * 1024  # servers accept no longer header or path


def read_text(context: Context, source: str, what: str, *, keeps_mark: bool = False) -> str:
    """Return the text of a file (``-``: stdin) without the byte order mark that some editors put before it, unless
    ``keeps_mark``.

    Raise Stop (2), naming ``what`` needs it, if it cannot be read or is longer than ``MAX_INPUT_BYTES`` characters.
    """
    try:
        if source == STDIN:
            text = context.stdin.read(MAX_INPUT_BYTES + 1)
        else:
            with open(source, encoding="utf-8") as file:
                text = file.read(MAX_INPUT_BYTES + 1)
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise Stop(ExitCode.USAGE, f"{what}: cannot read {source}: {why}", code="local_file") from error
    if len(text) > MAX_INPUT_BYTES:
        raise _oversize_error(source, what, MAX_INPUT_BYTES)
    return text if keeps_mark else text.removeprefix(BYTE_ORDER_MARK)


def read_bytes(context: Context, source: str, what: str, *, limit: int = MAX_INPUT_BYTES) -> bytes:
    """Return the bytes of a file (``-``: stdin).

    Raise Stop (2), naming ``what`` needs them, if it cannot be read or has more than ``limit`` bytes.
    """
    try:
        if source == STDIN:
            raw = _read_blocks(binary_stream(context.stdin), limit)
        else:
            with open(source, "rb") as file:
                raw = _read_blocks(file, limit)
    except OSError as error:
        why = f"{what}: cannot read {source}: {error.strerror or error}"
        raise Stop(ExitCode.USAGE, why, code="local_file") from error
    if len(raw) > limit:
        raise _oversize_error(source, what, limit)
    return raw


def read_line(context: Context, what: str) -> str:
    """Return the next line of stdin with its end, or "" at its end; raise Stop (2), naming ``what`` needs it, if it is
    longer than 16,384 characters."""
    line = context.stdin.readline(MAX_LINE_CHARS + 1)
    if len(line) > MAX_LINE_CHARS:
        raise Stop(ExitCode.USAGE, f"{what}: a line of stdin is too long", code="local_file")
    return line


def read_ids(context: Context) -> Iterator[str]:
    """Yield the first word of each line of stdin, so that the output of a list can be piped in unchanged; raise Stop
    (2) as ``read_line`` does."""
    while line := read_line(context, STDIN):
        if words := line.split():
            yield words[0]


def require_file_path(option: str, path: str | os.PathLike[str]) -> None:
    """Raise Stop (2) if ``path``, the value of ``option``, cannot be a regular file: a directory, such as the one of an
    empty path, or a device."""
    if not os.fspath(path) or (os.path.exists(path) and not os.path.isfile(path)):
        raise Stop(ExitCode.USAGE, f"{option}: {str(path)!r} is not a regular file", hint="Name a file.")


def require_absent(output: str | os.PathLike[str], *, force: bool) -> None:
    """Raise Stop (2) if the file ``output`` exists and ``force`` does not allow to overwrite it."""
    if output != STDOUT and not force and os.path.exists(output):
        raise Stop(ExitCode.USAGE, f"{output} already exists", hint="Use --force to overwrite it.")


def _read_blocks(file: IO[bytes], limit: int) -> bytes:
    """Read up to the end, or a little more than ``limit`` bytes; memory is allocated only for what arrives."""
    raw = io.BytesIO()
    while raw.tell() <= limit:
        block = file.read(_BLOCK)
        raw.write(block)
        if len(block) < _BLOCK:  # the end; on a terminal, another read would wait for another Ctrl-D
            break
    return raw.getvalue()


def _oversize_error(source: str, what: str, limit: int) -> Stop:
    name = "stdin" if source == STDIN else source
    return Stop(ExitCode.USAGE, f"{what}: {name} is larger than {limit // _BLOCK} MB", code="local_file")
