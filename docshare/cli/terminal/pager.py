"""The pager of the user, for long texts on a terminal."""

import shlex
import shutil
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context

_DEFAULT = ("less", "-FRX")  # ends at once if the text fits the screen, passes colors on, and does not clear the screen


def print_paged(ctx: "Context", text: str) -> None:
    """Print ``text`` through the pager of the user if standard output is a terminal, directly otherwise.

    A pager that ends early is not an error. One that cannot be started is reported, and the text printed without it.
    """
    argv = _find_pager(ctx)
    if argv and _run(ctx, argv, text + "\n"):
        return
    ctx.print(text)


def _find_pager(ctx: "Context") -> list[str]:
    """Return the command line of the pager, nothing for none."""
    if not (ctx.stdout_tty and ctx.stdin_tty) or ctx.is_ci or ctx.env.get("TERM", "dumb") == "dumb":
        return []
    chosen = ctx.env.get("DOCSHARE_PAGER", ctx.env.get("PAGER"))
    if chosen is None:
        return list(_DEFAULT) if shutil.which(_DEFAULT[0], path=ctx.env.get("PATH")) else []
    try:
        argv = shlex.split(chosen)
    except ValueError:
        ctx.warn("the pager has an unbalanced quote; see: docshare help environment")
        return []
    return [] if argv == ["cat"] else argv


def _run(ctx: "Context", argv: list[str], text: str) -> bool:
    """Run the pager until it ends; return False if it cannot be started."""
    ctx.flush()
    try:
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=ctx.stdout.fileno(), env=dict(ctx.env))
    except (OSError, ValueError) as error:
        ctx.warn(f"cannot start the pager {argv[0]}: {getattr(error, 'strerror', None) or error}")
        return False
    assert process.stdin is not None
    with suppress(BrokenPipeError, KeyboardInterrupt):  # the pager ended early
        process.stdin.write(text.encode(errors="replace"))
    with suppress(BrokenPipeError):
        process.stdin.close()
    while process.poll() is None:
        with suppress(KeyboardInterrupt):  # Ctrl-C is for the pager, which continues
            process.wait()
    return True
