"""Read inputs other than documents, and protect output files; ``-`` stands for stdin or stdout."""

import os

from docshare.cli.framework.context import Context, binary_stream
from docshare.cli.framework.exits import ExitCode, Stop

STDIN = STDOUT = "-"


def read_text(context: Context, source: str, what: str) -> str:
    """Return the text of a file (``-``: stdin); raise Stop (2), naming ``what`` needs it, if it cannot be read."""
    try:
        if source == STDIN:
            return context.stdin.read()
        with open(source, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise Stop(ExitCode.USAGE, f"{what}: cannot read {source}: {why}", code="local_file") from error


def read_bytes(context: Context, source: str, what: str) -> bytes:
    """Return the bytes of a file (``-``: stdin); raise Stop (2), naming ``what`` needs them, if it cannot be read."""
    try:
        if source == STDIN:
            return binary_stream(context.stdin).read()
        with open(source, "rb") as file:
            return file.read()
    except OSError as error:
        why = f"{what}: cannot read {source}: {error.strerror or error}"
        raise Stop(ExitCode.USAGE, why, code="local_file") from error


def require_file_path(option: str, path: str | os.PathLike[str]) -> None:
    """Raise Stop (2) if ``path``, the value of ``option``, cannot be a regular file: a directory, such as the one of an
    empty path, or a device."""
    if not os.fspath(path) or (os.path.exists(path) and not os.path.isfile(path)):
        raise Stop(ExitCode.USAGE, f"{option}: {str(path)!r} is not a regular file", hint="Name a file.")


def require_absent(output: str | os.PathLike[str], *, force: bool) -> None:
    """Raise Stop (2) if the file ``output`` exists and ``force`` does not allow to overwrite it."""
    if output != STDOUT and not force and os.path.exists(output):
        raise Stop(ExitCode.USAGE, f"{output} already exists", hint="Use --force to overwrite it.")
