"""Where the shells load completion scripts from by themselves, so that no startup file has to change."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from docshare.cli.completion.shells import list_zsh_folders

SHELLS = ("bash", "zsh", "fish")
_BASH_COMPLETION = (
    "/usr/share/bash-completion/bash_completion", "/usr/local/share/bash-completion/bash_completion",
    "/opt/homebrew/share/bash-completion/bash_completion", "/etc/bash_completion",
)  # fmt: skip
_BASH_LINE = 'eval "$(docshare completion bash)"'


@dataclass(frozen=True)
class ScriptPlace:
    """The file for a completion script; ``line`` is what the startup file of the shell must contain, empty if the
    shell loads the file by itself."""

    path: Path
    line: str


def has_bash_loader() -> bool:
    """Return whether the package bash-completion is installed, which loads the scripts of users."""
    return any(Path(path).is_file() for path in _BASH_COMPLETION)


def find_place(shell: str, env: Mapping[str, str]) -> ScriptPlace:
    """Return the file below the home directory for the script of ``shell``, one of ``SHELLS``."""
    home = Path(env.get("HOME") or "~").expanduser()
    if shell == "fish":
        return ScriptPlace(_find_base(env, "XDG_CONFIG_HOME", home / ".config") / "fish/completions/docshare.fish", "")
    if shell == "bash":
        own = env.get("BASH_COMPLETION_USER_DIR", "").split(os.pathsep)[0]
        base = Path(own) if own else _find_base(env, "XDG_DATA_HOME", home / ".local/share") / "bash-completion"
        return ScriptPlace(base / "completions/docshare", "" if has_bash_loader() else _BASH_LINE)
    usual = home / ".zfunc"
    folders = [folder for folder in list_zsh_folders(env) if home in folder.parents and os.access(folder, os.W_OK)]
    if folders:
        return ScriptPlace((usual if usual in folders else folders[0]) / "_docshare", "")
    return ScriptPlace(usual / "_docshare", "fpath=(~/.zfunc $fpath); autoload -U compinit; compinit")


def _find_base(env: Mapping[str, str], variable: str, otherwise: Path) -> Path:
    named = env.get(variable, "")
    return Path(named) if os.path.isabs(named) else otherwise
