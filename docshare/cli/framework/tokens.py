"""Keep tokens off the command line and the terminal: read them from files, and store those that are shown once.

Process lists and shell histories reveal command-line arguments.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docshare.cli.framework.connection import keep_secret
from docshare.cli.framework.context import Context, binary_stream
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal.text import clean

if TYPE_CHECKING:
    from docshare.cli.local.secret_file import SecretFile

TOKENS = ("claimToken", "manageToken")  # of a file that was shared without an account
_USES = ("to claim it", "to change its settings")
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


def render_tokens(row: Mapping[str, Any], context: Context) -> Iterator[str]:
    """Yield a line for each token in ``row``, then the note that they are shown only once."""
    paint = context.out_screen.paint
    for name, use in zip(TOKENS, _USES, strict=True):
        if name in row:
            yield f"{paint('dim', f'{use}:')} {clean(str(row[name]))}"
    if TOKENS[0] in row and not context.options.quiet:
        yield paint("warn", "These two tokens are shown only once.")


def move_tokens(row: Mapping[str, Any], file: "SecretFile | None") -> Mapping[str, Any]:
    """Write the tokens in ``row`` to ``file`` as JSON, and return the row without them; without a file, return it."""
    if file is None:
        return row
    file.write(json.dumps({name: row[name] for name in TOKENS}))
    return {key: value for key, value in row.items() if key not in TOKENS}
