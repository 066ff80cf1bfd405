"""``docshare completion``: print the completion script of a shell, or install it."""

from pathlib import Path
from typing import Annotated

import typer

import docshare
from docshare.cli.framework.app import App
from docshare.cli.framework.context import current_context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal.output import Spec, is_json_requested

app = App()

SCRIPTS = {
    "bash": "docshare.bash",
    "zsh": "_docshare",
    "fish": "docshare.fish",
    "powershell": "docshare.ps1",
}

# A wheel has the scripts inside the package; a source tree has them next to it.
_SCRIPT_DIRS = (Path(docshare.__file__).parent / "completions", Path(docshare.__file__).parent.parent / "completions")


_INSTALL = "install"
_RESULT = Spec(plain=("path",), fields=("shell", "path", "action", "line"), human=lambda row, _: iter(()))


@app.command("completion", spec=_RESULT)
def completion(
    action: Annotated[
        str, typer.Argument(metavar="SHELL|install", help=f"One of {', '.join(SCRIPTS)}; or install, to save it.")
    ],
    shell: Annotated[
        str | None, typer.Argument(metavar="[SHELL]", help="With install: bash, zsh, or fish; $SHELL by default.")
    ] = None,
    show: Annotated[
        bool, typer.Option("--print", help="With install: print the path and the action, and change nothing.")
    ] = False,
) -> None:
    """Print or install the completion script of a shell.

    'completion install' writes the script where the shell loads it by itself, and changes no startup file; if the
    shell needs a line in one, it is printed. File ids are completed from the last output of docshare files list,
    without a request. With docshare config set complete_online true, pressing TAB fetches ids again when they are
    older than a minute, for at most 800 ms.

    Examples:

      docshare completion install
      docshare completion install zsh --print
      docshare completion bash > ~/.local/share/bash-completion/completions/docshare
      docshare completion powershell >> $PROFILE
    """
    ctx = current_context()
    if action == _INSTALL:
        from docshare.cli.completion import install

        name = install.choose_shell(ctx, shell)
        return install.install_script(ctx, name, _read_script(name), _RESULT, show=show)
    if shell is not None or show:
        raise Stop(ExitCode.USAGE, "only 'completion install' takes a second argument or --print")
    text = _read_script(action)
    if is_json_requested(ctx):
        ctx.emit({"shell": action, "script": text}, Spec())
    else:
        ctx.write(text)
    return None


def _read_script(shell: str) -> str:
    if shell not in SCRIPTS:
        hint = f"Shells: {', '.join(SCRIPTS)}; or: docshare completion install"
        raise Stop(ExitCode.USAGE, f"shell {shell!r} is not supported", hint=hint)
    script = next((place / SCRIPTS[shell] for place in _SCRIPT_DIRS if (place / SCRIPTS[shell]).is_file()), None)
    if script is None:
        raise Stop(ExitCode.ERROR, "the completion scripts are missing from this installation")
    return script.read_text(encoding="utf-8")
