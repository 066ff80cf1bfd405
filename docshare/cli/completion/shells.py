"""Questions to an installed shell: it is started as an interactive shell, so that it reads its startup files."""

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

_MARK = "docshare-answer:"  # the startup files may print text of their own
_NESTED = "_DOCSHARE_SHELL"  # set in the started shell, so that a docshare in its startup files starts no other
_SECONDS = 4
_QUESTIONS = {
    # bash-completion loads a script only when it is needed, and registers a default where it finds none.
    "bash": "for load in _comp_load _completion_loader; do "
    "complete -p docshare >/dev/null 2>&1 || { declare -F $load && $load docshare; } >/dev/null; done; "
    f'echo; echo "{_MARK}$(complete -p docshare)"',
    "zsh": f'print; print -r -- "{_MARK}$_comps[docshare]"',
    "fish": f"complete -C 'docshare ' >/dev/null; echo; functions -q __docshare_at; and echo '{_MARK}_docshare'; "
    f"or echo '{_MARK}'",
}
_ZSH_FOLDERS = f'(( $+functions[compdef] )) && print -rl -- "{_MARK}"$^fpath'


def find_shell(shell: str, env: Mapping[str, str]) -> str | None:
    """Return the path of the program ``shell``: the one of $SHELL, or of $PATH. Return None if it is not installed."""
    own = env.get("SHELL", "")
    if Path(own).name == shell and Path(own).is_absolute() and os.access(own, os.X_OK):
        return own
    return shutil.which(shell, path=env.get("PATH") or os.defpath)


def loads_completion(shell: str, env: Mapping[str, str]) -> bool | None:
    """Return whether an interactive ``shell`` of this user completes docshare, or None if it does not respond."""
    answer = _ask(shell, _QUESTIONS[shell], env)
    return any("_docshare" in line for line in answer) if answer else None


def list_zsh_folders(env: Mapping[str, str]) -> list[Path]:
    """Return the folders that an interactive zsh of this user searches, none if it does not load completions."""
    return [Path(line) for line in _ask("zsh", _ZSH_FOLDERS, env)]


def _ask(shell: str, question: str, env: Mapping[str, str]) -> list[str]:
    """Return the marked lines that the shell prints, none if it is not installed or does not respond."""
    program = find_shell(shell, env)
    if program is None or env.get(_NESTED):
        return []
    try:
        process = subprocess.Popen(
            [program, "-i", "-c", question],
            env={**env, _NESTED: "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # an interactive shell would take the terminal
        )
    except OSError:
        return []
    with process:
        try:
            output = process.communicate(timeout=_SECONDS)[0]
        except subprocess.TimeoutExpired as late:
            output = late.output or b""  # a program in the background may keep the pipe open after the response
        finally:
            if process.poll() is None:
                with suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL)
    lines = output.decode(errors="surrogateescape").splitlines()
    return [line.removeprefix(_MARK) for line in lines if line.startswith(_MARK)]
