"""The two tokens of a file that was shared without an account: shown once, or moved to a file."""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from docshare.cli.terminal.text import clean

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.cli.local.secret_file import SecretFile

TOKENS = ("claimToken", "manageToken")
_USES = ("to claim it", "to change its settings")


def render_tokens(row: Mapping[str, Any], context: "Context") -> Iterator[str]:
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
