"""``docshare completion``: the script that makes a shell complete docshare's words."""

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

# In a wheel the scripts lie inside the package, in a source tree beside it.
_SCRIPT_DIRS = (Path(docshare.__file__).parent / "completions", Path(docshare.__file__).parent.parent / "completions")


@app.command("completion")
def completion(
    shell: Annotated[str, typer.Argument(metavar="SHELL", help=f"One of {', '.join(SCRIPTS)}.")],
) -> None:
    """Print the completion script of a shell.

    Nothing is installed and no start-up file is changed: where the output goes is yours to say. Ids of files come from
    what docshare files list showed last; pressing TAB asks no server, unless docshare config set complete_online true
    allowed it for a profile: then what is older than a minute is asked for anew, for at most 800 ms.

    Examples:

      docshare completion bash > ~/.local/share/bash-completion/completions/docshare
      docshare completion zsh > ~/.zfunc/_docshare
      docshare completion fish > ~/.config/fish/completions/docshare.fish
      docshare completion powershell >> $PROFILE
    """
    ctx = current_context()
    if shell not in SCRIPTS:
        raise Stop(ExitCode.USAGE, f"no completion for {shell!r}", hint=f"Shells: {', '.join(SCRIPTS)}.")
    script = next((place / SCRIPTS[shell] for place in _SCRIPT_DIRS if (place / SCRIPTS[shell]).is_file()), None)
    if script is None:
        raise Stop(ExitCode.ERROR, "the completion scripts are missing from this installation")
    text = script.read_text(encoding="utf-8")
    if is_json_requested(ctx):
        ctx.emit({"shell": shell, "script": text}, Spec())
    else:
        ctx.write(text)
