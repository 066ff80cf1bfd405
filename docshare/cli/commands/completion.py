"""``docshare completion``: print the completion script of a shell."""

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


@app.command("completion")
def completion(
    shell: Annotated[str, typer.Argument(metavar="SHELL", help=f"One of {', '.join(SCRIPTS)}.")],
) -> None:
    """Print the completion script of a shell.

    The command installs nothing and changes no startup file; redirect its output to the right place. File ids are
    completed from the last output of docshare files list, without a request. With docshare config set complete_online
    true, pressing TAB fetches ids again when they are older than a minute, for at most 800 ms.

    Examples:

      docshare completion bash > ~/.local/share/bash-completion/completions/docshare
      docshare completion zsh > ~/.zfunc/_docshare
      docshare completion fish > ~/.config/fish/completions/docshare.fish
      docshare completion powershell >> $PROFILE
    """
    ctx = current_context()
    if shell not in SCRIPTS:
        raise Stop(ExitCode.USAGE, f"shell {shell!r} is not supported", hint=f"Shells: {', '.join(SCRIPTS)}.")
    script = next((place / SCRIPTS[shell] for place in _SCRIPT_DIRS if (place / SCRIPTS[shell]).is_file()), None)
    if script is None:
        raise Stop(ExitCode.ERROR, "the completion scripts are missing from this installation")
    text = script.read_text(encoding="utf-8")
    if is_json_requested(ctx):
        ctx.emit({"shell": shell, "script": text}, Spec())
    else:
        ctx.write(text)
