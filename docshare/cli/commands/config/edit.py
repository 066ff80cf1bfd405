"""``docshare config edit``: edit a copy of the file and save it only if it is valid."""

import os
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

from docshare.cli.commands.config.values import check_config
from docshare.cli.framework import prompts
from docshare.cli.framework.context import Context
from docshare.cli.framework.dry_run import preview_changes
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local.config import FILE_NAME, read_text
from docshare.cli.local.storage import hold_lock, replace_file
from docshare.cli.local.toml_edit import find_line
from docshare.cli.terminal.capabilities import is_enabled
from docshare.contract.amounts import format_plural

_STDERR = 2
_TEMPLATE = """\
# Settings of docshare; see: man docshare-config
#
# profile = "work"
#
# [profiles.work]
# url = "https://docs.example"
"""


def edit_config(context: Context, *, dry_run: bool) -> ExitCode:
    """Open a copy of the file in the editor and save it, or print the change with ``dry_run``."""
    path = context.config_dir / FILE_NAME
    before = read_text(path)
    text = _edit_draft(context, before)
    if text is None:
        context.note("nothing was changed")
        return ExitCode.OK
    if dry_run:
        return preview_changes(context, ("WRITE", path, {}))
    _replace_config(context, text, before)
    context.note(f"saved {path}")
    return ExitCode.OK


def _edit_draft(context: Context, before: str) -> str | None:
    """Open a copy of the file with the text ``before`` in the editor until it is valid.

    Return the new text, or None if nothing changed. Raise Stop (2) if there is no editor, it fails, or the text is
    invalid; the message names the copy, which is kept.
    """
    command = _find_editor(context)
    draft = context.config_dir / f".{Path(FILE_NAME).stem}.{os.urandom(4).hex()}.toml"
    replace_file(draft, before or _TEMPLATE, private=True)
    while True:
        _run_editor(context, command, draft)
        if not draft.is_file():  # an editor that returns immediately may still have it open
            raise Stop(ExitCode.USAGE, "the editor deleted the file", hint="Nothing was changed.")
        after = read_text(draft)
        if after in (before, before or _TEMPLATE):
            draft.unlink()
            return None
        wrong = list(_list_errors(after))
        if not wrong:
            draft.unlink()
            return after
        for line in wrong:
            context.err(f"{FILE_NAME}:{line}", "error")
        if not context.may_prompt or context.options.yes:
            hint = f"Nothing was changed; your text is in {draft}"
            raise Stop(
                ExitCode.USAGE, f"{FILE_NAME} would be invalid in {format_plural(len(wrong), 'place')}", hint=hint
            )
        prompts.confirm(context, "Edit it again?")


def _replace_config(context: Context, text: str, before: str) -> None:
    """Replace the file with ``text``. Raise Stop (7) if it is no longer ``before``, so that no change is lost."""
    path = context.config_dir / FILE_NAME
    with hold_lock(context.config_dir / ".lock"):
        if read_text(path) != before:
            draft = context.config_dir / f"{FILE_NAME}.edited"
            replace_file(draft, text, private=True)
            raise Stop(ExitCode.CONFLICT, f"{path} was changed by another process", hint=f"Your text is in {draft}")
        replace_file(path, text)


def _find_editor(context: Context) -> list[str]:
    path = context.config_dir / FILE_NAME
    if context.options.no_input or is_enabled(context.env, "DOCSHARE_NO_INPUT"):
        raise Stop(ExitCode.USAGE, "an editor requires input, which --no-input disables", code="prompt")
    line = context.env.get("VISUAL") or context.env.get("EDITOR") or ""
    try:
        command = shlex.split(line)
    except ValueError as error:
        raise Stop(ExitCode.USAGE, f"the editor {line!r} is not a valid command: {error}") from None
    if not command:
        raise Stop(ExitCode.USAGE, "no editor is set", hint=f"Set VISUAL or EDITOR, or edit {path} directly.")
    return command


def _run_editor(context: Context, command: list[str], draft: Path) -> None:
    # Standard output is for data, so in a pipe the editor uses standard error.
    try:
        done = subprocess.run([*command, str(draft)], stdout=None if context.stdout_tty else _STDERR, check=False)
    except OSError as error:
        draft.unlink()
        raise Stop(ExitCode.USAGE, f"cannot start the editor {command[0]}: {error.strerror or error}") from error
    if done.returncode != 0:
        hint = f"Nothing was changed; the copy is in {draft}"
        raise Stop(ExitCode.USAGE, f"the editor {command[0]} exited with {done.returncode}", hint=hint)


def _list_errors(text: str) -> Iterator[str]:
    """Yield every error in the text of a file, such as ``3: retries: must be at least 0``."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        yield f" {error}"
        return
    for fault in check_config(data):
        line = find_line(text, fault.key)
        yield f"{line}: {fault.detail}" if line else f" {fault.detail}"
