"""``docshare settings clear``, ``apply`` and ``copy``. ``set`` has its own module."""

from difflib import get_close_matches
from typing import Annotated, Any

import typer

from docshare.cli.commands.settings.changes import SettingChanges
from docshare.cli.commands.settings.declarations import ROWS, VIEWER, canonicalize, is_object_key
from docshare.cli.commands.settings.format import export_settings
from docshare.cli.commands.settings.options import DIFF, DRY_RUN, READ_BACK, STRICT, VALIDATE
from docshare.cli.commands.settings.rows import WRITE_SPEC
from docshare.cli.commands.settings.values import read_settings
from docshare.cli.commands.settings.write import WriteOptions, write_settings
from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FILE_HELP, FILES_HELP, FileResolver
from docshare.cli.framework.context import current_context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import STDIN
from docshare.contract.wire import parse_instant

app = App()

# Word -> the setting it clears. Every settings key is accepted, too.
CLEAR_WORDS = {
    "password": "password",
    "slug": "slug",
    "gate": "gateFields",
    "domains": "gateDomains",
    "page-range": "pageRange",
    "view-limit": "viewLimit",
    "expiry": "deleteAt",
    "viewer": VIEWER,
}
_TYPO_CUTOFF = 0.75  # of 1; no short id is this similar to the name of a setting


@app.command("clear", spec=WRITE_SPEC)
def clear(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILES_HELP)],
    words: Annotated[
        list[str],
        typer.Argument(metavar="WORD...", help=f"{', '.join(CLEAR_WORDS)} or a settings key; then more files."),
    ],
    strict: Annotated[bool, STRICT] = False,
    diff: Annotated[bool, DIFF] = False,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> ExitCode:
    """Clear settings of files.

    Works on every plan, even for settings that require a higher one. A setting that cannot be unset returns to its
    default.

    Examples:

      docshare settings clear @last password expiry
      docshare settings clear aB3dE5fG7hJ9 slug gate page-range view-limit
      docshare settings clear @last cta flip.speedMs
    """
    ctx = current_context()
    names, changes = [file], SettingChanges()
    for word in words:
        key = CLEAR_WORDS.get(word, canonicalize(word))
        if key == "password":
            changes.put_password("")
        elif key in ROWS or is_object_key(key):
            changes.put(key, None)
        else:
            _reject_typo(word)
            names.append(word)
    return write_settings(ctx, names, changes, WriteOptions(diff=diff), strict=strict, dry_run=dry_run)


def _reject_typo(word: str) -> None:
    """Raise Stop (2) for a word close to a setting, which would otherwise be taken for the name of another file."""
    near = [] if ":" in word else get_close_matches(word, {**CLEAR_WORDS, **ROWS}, n=2, cutoff=_TYPO_CUTOFF)
    if near:
        raise Stop(ExitCode.USAGE, f"unknown setting {word!r}", hint=f"Did you mean {' or '.join(near)}?")


@app.command("apply", spec=WRITE_SPEC)
def apply(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help=FILES_HELP)],
    source: Annotated[str, typer.Option("--file", "-f", metavar="F", help="JSON or TOML file; '-' is stdin.")],
    judge: Annotated[bool, VALIDATE] = True,
    read_back: Annotated[bool, READ_BACK] = True,
    strict: Annotated[bool, STRICT] = False,
    diff: Annotated[bool, DIFF] = False,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> ExitCode:
    """Apply a settings file to files.

    Replaces the viewer settings as a whole; docshare settings set merges them instead. Each file keeps its own logo and
    background image unless the settings name others or another type of background. The exit code is 12 if some files
    could not be changed.

    Examples:

      docshare settings apply -f usual.json aB3dE5fG7hJ9 slug:offer
      docshare ls --format ids | docshare settings apply -f usual.toml - --diff
    """
    ctx = current_context()
    if source == STDIN and STDIN in files:
        raise Stop(ExitCode.USAGE, "only one value can come from stdin")
    changes = _load_changes(read_settings(ctx, source, "--file"), lenient=not judge)
    way = WriteOptions(pictures=True, read_back=read_back, diff=diff)
    return write_settings(ctx, files, changes, way, strict=strict, dry_run=dry_run)


@app.command("copy", spec=WRITE_SPEC)
def copy(
    source: Annotated[str, typer.Argument(metavar="FILE", help=f"File to copy from: {FILE_HELP}")],
    targets: Annotated[list[str], typer.Argument(metavar="TO...", help=FILES_HELP)],
    strict: Annotated[bool, STRICT] = False,
    diff: Annotated[bool, DIFF] = False,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> ExitCode:
    """Copy the settings of one file to others.

    The password and the slug are never copied. A logo and a background image are not copied either, because assets
    belong to one file: each file keeps its own, unless it gets another type of background.

    Examples:

      docshare settings copy slug:offer @last
      docshare settings copy aB3dE5fG7hJ9 zY9xW8vU7tS6 --diff
    """
    ctx = current_context()
    client = ctx.client()
    body, left_out = export_settings(client.files.show(FileResolver(ctx, client).resolve(source)))
    expiry = parse_instant(str(body.get("deleteAt", "")))
    if expiry is not None and expiry <= ctx.now():
        raise Stop(ExitCode.USAGE, f"{source} has expired; its settings would expire the other files")
    if left_out:
        ctx.warn(f"not copied: {', '.join(left_out)} (assets belong to one file)")
    return write_settings(
        ctx, targets, _load_changes(body), WriteOptions(pictures=True, diff=diff), strict=strict, dry_run=dry_run
    )


def _load_changes(settings: dict[str, Any], *, lenient: bool = False) -> SettingChanges:
    changes = SettingChanges(lenient=lenient)
    changes.load(settings)
    return changes
