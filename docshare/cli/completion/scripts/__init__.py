"""Generate completion scripts from the command tree. Read ``nodes`` first: the tree as the scripts need it.

The scripts are static: they contain the words and options, and only ids come from ``docshare __complete``, whose output
has no characters that are special to a shell. No script evaluates text it receives. It imports ``cli.reference.tree``.
"""

from collections.abc import Callable

from docshare.cli.completion.scripts import bash, fish, powershell, zsh
from docshare.cli.reference.tree import Command


def render_script(shell: str, root: Command) -> str:
    """Return the completion script of a shell."""
    writers: dict[str, Callable[[Command], str]] = {
        "bash": bash.render_script,
        "zsh": zsh.render_script,
        "fish": fish.render_script,
        "powershell": powershell.render_script,
    }
    return writers[shell](root)
