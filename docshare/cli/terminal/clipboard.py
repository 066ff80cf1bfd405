"""Copy to the clipboard, with one of the system's programs, else through the terminal."""

import base64
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context

_TIMEOUT_S = 5


def copy_text(context: "Context", text: str) -> bool:
    """Copy ``text`` to the clipboard; return False if that is impossible."""
    for command in _list_commands(context):
        program = shutil.which(command[0], path=context.env.get("PATH"))
        if program is not None and _run_with_input([program, *command[1:]], text):
            return True
    if not context.stderr_tty:
        return False
    # OSC 52: many terminals support this escape sequence, even over SSH.
    context.err_raw(f"\x1b]52;c;{base64.b64encode(text.encode()).decode()}\x07")
    return True


def _list_commands(context: "Context") -> list[list[str]]:
    if sys.platform == "darwin":
        return [["pbcopy"]]
    if sys.platform == "win32":
        return [["clip.exe"]]
    commands = [["wl-copy"]] if context.env.get("WAYLAND_DISPLAY") else []
    if context.env.get("DISPLAY"):
        commands += [["xclip", "-selection", "clipboard"], ["xsel", "--clipboard", "--input"]]
    return commands


def _run_with_input(command: list[str], text: str) -> bool:
    try:
        # These programs stay in the background to serve the clipboard, so they must not keep our output open.
        done = subprocess.run(
            command,
            input=text.encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
