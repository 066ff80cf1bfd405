"""Save the completion script of a shell where the shell loads it."""

from pathlib import Path
from typing import TYPE_CHECKING

from docshare.cli.completion import places
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local.storage import replace_file

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.cli.terminal.output import Spec


def choose_shell(ctx: "Context", shell: str | None) -> str:
    """Return ``shell``, or the shell of $SHELL without it. Raise Stop (2) unless completion can be installed for it."""
    name = shell or Path(ctx.env.get("SHELL", "")).name
    if name not in places.SHELLS:
        wrong = f"completion cannot be installed for {name}" if name else "SHELL is not set"
        hint = f"Name one of {', '.join(places.SHELLS)}. For PowerShell: docshare completion powershell >> $PROFILE"
        raise Stop(ExitCode.USAGE, wrong, hint=hint)
    return name


def install_script(ctx: "Context", name: str, text: str, spec: "Spec", *, show: bool) -> None:
    """Write ``text``, the script of the shell ``name``, or ``show`` what would be written."""
    place = places.find_place(name, ctx.env)
    try:
        old = place.path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        old = None
    done = "unchanged" if old == text else "created" if old is None else "updated"
    if not show and done != "unchanged":
        replace_file(place.path, text)
    ctx.emit(
        {"shell": name, "path": str(place.path), "action": done, **({"line": place.line} if place.line else {})},
        spec,
    )
    ctx.note(f"{'would be ' if show else ''}{done}: {place.path}")
    if place.line:
        ctx.note(f"add this line to ~/.{name}rc: {place.line}")
    if not show:
        ctx.note(f"to try it, start a new {name}, type docshare and a space, and press TAB")
