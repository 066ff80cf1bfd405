"""Read credentials from files: process lists and shell histories reveal command-line arguments."""

from pathlib import Path

from docshare.cli.framework.connection import keep_secret
from docshare.cli.framework.context import Context, binary_stream
from docshare.cli.framework.exits import ExitCode, Stop

_MAX_BYTES = 16 * 1024  # bytes; servers accept no longer header


def read_token(ctx: Context, source: str, option: str) -> str:
    """Return the token in the file ``source`` (``-``: stdin), redacted from all later messages.

    ``option`` is the option that named it. Raise Stop (2) if it cannot be read or does not contain a token.
    """
    try:
        if source == "-":
            raw = binary_stream(ctx.stdin).read(_MAX_BYTES + 1)
        else:
            with Path(source).open("rb") as file:
                raw = file.read(_MAX_BYTES + 1)
    except OSError as error:
        why = f"{option}: cannot read {source}: {error.strerror or error}"
        raise Stop(ExitCode.USAGE, why, code="local_file") from error
    token = raw.decode("utf-8", "replace").strip()
    if not token or len(raw) > _MAX_BYTES or not token.isascii() or not token.isprintable() or " " in token:
        raise Stop(ExitCode.USAGE, f"{option}: {source} does not contain a token")
    return keep_secret(ctx, token)


def require_one_stdin(*sources: str | None) -> None:
    """Raise Stop (2) if more than one of ``sources`` is stdin."""
    if sources.count("-") > 1:
        raise Stop(ExitCode.USAGE, "only one value can come from stdin")
