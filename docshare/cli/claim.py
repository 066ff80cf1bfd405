"""``docshare claim``: take over a file that was shared without an account."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from docshare.cli import memory
from docshare.cli.connection import keep_secret
from docshare.cli.context import Context, binary, current
from docshare.cli.exits import ExitCode, Stop
from docshare.cli.output import Spec
from docshare.cli.text import clean
from docshare.cli.typer_compat import App
from docshare.contract.scopes import LANES, Lane

app = App()

_LONGEST = 4096  # bytes; a claim token has some forty


def _told(row: Mapping[str, Any], context: Context) -> Iterator[str]:
    yield context.out_screen.paint("bold", clean(str(row["shareUrl"])))
    if not context.options.quiet:
        yield context.out_screen.paint("dim", clean(str(row.get("message") or "claimed")))


_CLAIMED = Spec(plain=("shareUrl",), fields=("uuid", "shortId", "message"), id="shortId", human=_told)


@app.command("claim", spec=_CLAIMED)
def claim(
    token_file: Annotated[
        str | None, typer.Option("--token-file", metavar="F", help="File with the claim token; '-' is stdin.")
    ] = None,
) -> None:
    """Take over a file that was shared without an account.

    The claim token came with the anonymous upload and is valid for 30 days. Link, content and expiry stay; the file
    needs a free slot of the account. Claiming a file that is yours already changes nothing. The token is read from a
    file, so that it stands in no list of processes and no history.

    Examples:

      docshare claim --token-file claim-token.txt
      pass show docshare/claim | docshare claim --token-file -
    """
    ctx = current()
    if token_file is None:
        raise Stop(ExitCode.USAGE, "which token?", hint="Give --token-file F, or - for stdin.")
    token = keep_secret(ctx, _token(ctx, token_file))
    with ctx.client() as client:
        result = client.files.claim(token)
    memory.remember_last(ctx, result)
    ctx.emit(result, _CLAIMED)


def _token(ctx: Context, source: str) -> str:
    try:
        if source == "-":
            raw = binary(ctx.stdin).read(_LONGEST + 1)
        else:
            with Path(source).open("rb") as file:
                raw = file.read(_LONGEST + 1)
    except OSError as error:
        why = f"--token-file: cannot read {source}: {error.strerror or error}"
        raise Stop(ExitCode.USAGE, why, code="local_file") from error
    token = raw.decode("utf-8", "replace").strip()
    if not token or len(raw) > _LONGEST or not token.isprintable() or " " in token:
        raise Stop(ExitCode.USAGE, f"--token-file: {source} holds no token")
    manage = LANES[Lane.MANAGE].prefix
    if manage is not None and token.startswith(manage):
        raise Stop(ExitCode.USAGE, "this is a manage token; a claim needs the claim token")
    return token
