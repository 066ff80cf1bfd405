"""The pager of the user, for text that is longer than the terminal."""

import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from docshare.cli.terminal.text import cell_width

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context

_LESS = "less"
_LESS_OPTIONS = "FRX"  # end at once if the text fits the screen, pass colors on, and do not clear the screen
_HYPERLINK = re.compile(r"\x1b]8;[^\x1b]*\x1b\\")
_STYLE = re.compile(r"\x1b\[[\d;]*m")


def print_paged(ctx: "Context", lines: Iterable[str]) -> None:
    """Print ``lines``, through the pager of the user if they are longer than the terminal.

    A pager that ends early is not an error. One that cannot be started is reported, and the lines printed without it.
    """
    lines = list(lines)
    argv = _find_pager(ctx) if _may_page(ctx) and _is_longer_than_terminal(ctx, lines) else []
    if argv and _run(ctx, argv, "".join(f"{line}\n" for line in lines)):
        return
    for line in lines:
        ctx.print(line)


def _may_page(ctx: "Context") -> bool:
    """Return whether a person is at the terminal and waits for nothing but this text."""
    attended = ctx.stdout_tty and ctx.stdin_tty and not ctx.is_unattended
    return attended and not ctx.is_endless and ctx.env.get("TERM", "dumb") != "dumb"


def _is_longer_than_terminal(ctx: "Context", lines: Sequence[str]) -> bool:
    try:
        height = os.get_terminal_size(ctx.stdout.fileno()).lines
    except (OSError, ValueError):
        return False
    width = ctx.out_screen.width
    used = sum(max(1, -(-cell_width(_STYLE.sub("", _HYPERLINK.sub("", line))) // width)) for line in lines)
    return 0 < height <= used  # the prompt of the shell needs a line as well


def _find_pager(ctx: "Context") -> list[str]:
    """Return the command line of the pager, nothing for none."""
    chosen = ctx.env.get("DOCSHARE_PAGER", ctx.env.get("PAGER"))
    if chosen is None:
        found = shutil.which(_LESS, path=ctx.env.get("PATH"))
        return [_LESS, f"-{_LESS_OPTIONS}"] if found else []
    try:
        argv = shlex.split(chosen)
    except ValueError:
        ctx.warn("the pager has an unbalanced quote; see: docshare help environment")
        return []
    return [] if argv == ["cat"] else argv


def _run(ctx: "Context", argv: list[str], text: str) -> bool:
    """Run the pager until it ends; return False if it cannot be started."""
    ctx.flush()
    env = {"LESS": _LESS_OPTIONS, **ctx.env}  # for PAGER=less
    try:
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=ctx.stdout.fileno(), env=env)
    except (OSError, ValueError) as error:
        ctx.warn(f"cannot start the pager {argv[0]}: {getattr(error, 'strerror', None) or error}")
        return False
    if os.path.basename(argv[0]) != _LESS:  # other pagers print the URLs or cut the lines at the wrong place
        text = _HYPERLINK.sub("", text)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the pager, which continues
    try:
        process.communicate(text.encode(ctx.stdout.encoding, "replace"))
    except BaseException:  # SIGTERM or the deadline: the pager must not keep the terminal
        process.terminate()
        process.wait()
        raise
    finally:
        signal.signal(signal.SIGINT, before)
    return True
