"""``docshare settings``: read and write the settings of files."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.arguments import FILE_HELP, FILES_HELP, FileNames
from docshare.cli.collecting import collecting
from docshare.cli.context import Context, current
from docshare.cli.exits import ExitCode, Stop
from docshare.cli.output import Spec, json_text
from docshare.cli.setting_changes import Changes
from docshare.cli.setting_options import AllSettings, gather
from docshare.cli.setting_schema import ROWS, VIEWER, canonical, is_whole
from docshare.cli.setting_show import (
    GOT,
    SCHEMA,
    checked_keys,
    exported,
    print_settings,
    schema_rows,
)
from docshare.cli.setting_values import STDIN, is_assignment, read_settings
from docshare.cli.setting_write import WRITTEN, Way, Writer, write_all
from docshare.cli.typer_compat import App
from docshare.contract.wire import parse_instant

if TYPE_CHECKING:
    from docshare.client import Client

app = App("Settings of a file: password, expiry, link name, viewer.")

_DIFF = typer.Option("--diff", help="Show old and new values.")
_STRICT = typer.Option("--strict", help="Exit code 13 if the server kept other values than were sent.")
_READ_BACK = typer.Option("--read-back/--no-read-back", help="Compare with what the server stored.")
_DRY_RUN = typer.Option("--dry-run", "-n", help="Say what would be sent; write nothing.")
_JUDGE = typer.Option("--validate/--no-validate", help="Check the values before sending.")

# Word -> the setting that it takes away; every key of a setting is such a word, too.
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
_ALMOST = 0.75  # of 1; no short id comes that near to the name of a setting


@app.command("get", spec=GOT)
def get(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)],
    keys: Annotated[
        list[str] | None, typer.Argument(metavar="SETTING...", help="Settings to show; all if left out.")
    ] = None,
) -> None:
    """Show the settings of a file.

    A pipe gets a line per setting, its key and its value; of one SETTING the bare value. Of the viewer's settings only
    those that differ from their defaults are listed; asked for by its key, each has a value.

    Examples:

      docshare settings get @last
      docshare settings get aB3dE5fG7hJ9 flip.speedMs
      docshare settings get @last --json | jq .viewerSettings
    """
    ctx = current()
    chosen = checked_keys(keys or [])
    client = ctx.client()
    print_settings(ctx, client.files.show(FileNames(ctx, client).one(file)), chosen)


@app.command("set", spec=WRITTEN)
@collecting(AllSettings)
def set_(
    words: Annotated[
        list[str],
        typer.Argument(metavar="FILE|KEY=VALUE...", help=f"Files ({FILES_HELP}) and settings."),
    ],
    given: AllSettings,
    replace: Annotated[
        bool, typer.Option("--replace", help="Send the viewer's settings as given, without those stored.")
    ] = False,
    judge: Annotated[bool, _JUDGE] = True,
    read_back: Annotated[bool, _READ_BACK] = True,
    strict: Annotated[bool, _STRICT] = False,
    diff: Annotated[bool, _DIFF] = False,
    manage_token_file: Annotated[
        str | None, typer.Option(metavar="F", help="Use the manage token in a file: an anonymous upload.")
    ] = None,
    dry_run: Annotated[bool, _DRY_RUN] = False,
) -> ExitCode:
    """Change settings of files.

    Settings are options, or key=value words for everything there is: docshare settings schema lists the keys. Values
    are true, false, numbers, texts, null (clear) and @file.json; key:=JSON takes any JSON. What is not said keeps its
    value. Values are checked before anything is sent, and compared with what the server stored afterwards.

    A pipe gets nothing; --json prints what was sent, without the password, and the file.

    Examples:

      docshare settings set @last --password-prompt --expires 7d
      docshare settings set aB3dE5fG7hJ9 --slug q3 --views 100 --no-download
      docshare settings set @last flip.speedMs=300 protect.print=true
      docshare settings set @last gateFields:=@form.json --diff
      docshare ls --format ids | docshare settings set - --expires 2030-12-31
    """
    ctx = current()
    names = [word for word in words if not is_assignment(word)]
    pairs = [word for word in words if is_assignment(word)]
    changes = gather(ctx, given, pairs, lenient=not judge, ids_on_stdin=STDIN in names)
    way = Way(replace=replace, read_back=read_back, diff=diff, unowned=manage_token_file is not None)
    if manage_token_file is not None:
        _use_manage_token(ctx, manage_token_file)
    return _written(ctx, names, changes, way, strict=strict, dry_run=dry_run)


@app.command("clear", spec=WRITTEN)
def clear(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILES_HELP)],
    words: Annotated[
        list[str],
        typer.Argument(metavar="WORD...", help=f"{', '.join(CLEAR_WORDS)}, or the key of a setting; further files."),
    ],
    strict: Annotated[bool, _STRICT] = False,
    diff: Annotated[bool, _DIFF] = False,
    dry_run: Annotated[bool, _DRY_RUN] = False,
) -> ExitCode:
    """Take settings away.

    Works on every plan, also for what a lower plan could not set. A setting without a cleared state goes back to its
    default.

    Examples:

      docshare settings clear @last password expiry
      docshare settings clear aB3dE5fG7hJ9 slug gate page-range view-limit
      docshare settings clear @last cta flip.speedMs
    """
    ctx = current()
    names, changes = [file], Changes()
    for word in words:
        key = CLEAR_WORDS.get(word, canonical(word))
        if key == "password":
            changes.put_password("")
        elif key in ROWS or is_whole(key):
            changes.put(key, None)
        else:
            _refuse_typo(word)
            names.append(word)
    return _written(ctx, names, changes, Way(diff=diff), strict=strict, dry_run=dry_run)


def _refuse_typo(word: str) -> None:
    """Stop (2) for a word that is almost a setting, which would be taken for the name of a further file."""
    near = [] if ":" in word else get_close_matches(word, {**CLEAR_WORDS, **ROWS}, n=2, cutoff=_ALMOST)
    if near:
        raise Stop(ExitCode.USAGE, f"no setting {word!r}", hint=f"Did you mean {' or '.join(near)}?")


@app.command("schema", spec=SCHEMA)
def schema(
    keys: Annotated[list[str] | None, typer.Argument(metavar="SETTING...", help="Settings; all if left out.")] = None,
) -> None:
    """List every setting: its key, type, allowed values, default and plan.

    Asks no server. --json is for programs: types, ranges, the value that clears.

    Examples:

      docshare settings schema
      docshare settings schema flip.speedMs --json
    """
    ctx = current()
    printer = ctx.emitter(SCHEMA)
    printer.emit(schema_rows(keys or [], for_programs=printer.format in ("json", "jsonl")))


@app.command("export", spec=Spec())
def export(file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)]) -> None:
    """Print the settings of a file as JSON that docshare settings apply takes.

    Every setting is in it, also those that are unset, so that another file gets the same state. The password, the name
    of the link, the logo and the background picture are not: they belong to one file.

    Examples:

      docshare settings export @last > usual.json
    """
    ctx = current()
    client = ctx.client()
    body, left_out = exported(client.files.show(FileNames(ctx, client).one(file)))
    if left_out:
        ctx.note(f"not exported: {', '.join(left_out)} (assets belong to their file)")
    if ctx.emitter(Spec()).natural:
        ctx.print(json_text(body, ascii_only=ctx.stdout_tty or not ctx.out_screen.unicode, pretty=True))
    else:
        ctx.emit(body, Spec())


@app.command("apply", spec=WRITTEN)
def apply(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help=FILES_HELP)],
    source: Annotated[str, typer.Option("--file", "-f", metavar="F", help="JSON or TOML file; '-' is stdin.")],
    judge: Annotated[bool, _JUDGE] = True,
    read_back: Annotated[bool, _READ_BACK] = True,
    strict: Annotated[bool, _STRICT] = False,
    diff: Annotated[bool, _DIFF] = False,
    dry_run: Annotated[bool, _DRY_RUN] = False,
) -> ExitCode:
    """Give files the settings in a file.

    The viewer's settings are replaced as a whole, not merged as docshare settings set does. Only its own logo and
    background picture stay with each file, unless the settings name others, or another type of background. Exit code 12
    if some files could not be changed.

    Examples:

      docshare settings apply -f usual.json aB3dE5fG7hJ9 slug:offer
      docshare ls --format ids | docshare settings apply -f usual.toml - --diff
    """
    ctx = current()
    if source == STDIN and STDIN in files:
        raise Stop(ExitCode.USAGE, "'-' (stdin) can be read once only")
    changes = _whole(read_settings(ctx, source, "--file"), lenient=not judge)
    way = Way(pictures=True, read_back=read_back, diff=diff)
    return _written(ctx, files, changes, way, strict=strict, dry_run=dry_run)


@app.command("copy", spec=WRITTEN)
def copy(
    source: Annotated[str, typer.Argument(metavar="FILE", help=f"Where the settings come from: {FILE_HELP}")],
    targets: Annotated[list[str], typer.Argument(metavar="TO...", help=FILES_HELP)],
    strict: Annotated[bool, _STRICT] = False,
    diff: Annotated[bool, _DIFF] = False,
    dry_run: Annotated[bool, _DRY_RUN] = False,
) -> ExitCode:
    """Give files the settings of another file.

    Never its password and the name of its link. A logo and a background picture stay behind, too: assets belong to
    their file, and each file keeps its own, unless it gets another type of background.

    Examples:

      docshare settings copy slug:offer @last
      docshare settings copy aB3dE5fG7hJ9 zY9xW8vU7tS6 --diff
    """
    ctx = current()
    client = ctx.client()
    body, left_out = exported(client.files.show(FileNames(ctx, client).one(source)))
    expiry = parse_instant(str(body.get("deleteAt", "")))
    if expiry is not None and expiry <= ctx.now():
        raise Stop(ExitCode.USAGE, f"{source} has expired; with its settings the others would, too")
    if left_out:
        ctx.warn(f"not copied: {', '.join(left_out)} (assets belong to their file)")
    return _written(ctx, targets, _whole(body), Way(pictures=True, diff=diff), strict=strict, dry_run=dry_run)


def _whole(settings: dict[str, Any], *, lenient: bool = False) -> Changes:
    changes = Changes(lenient=lenient)
    changes.load(settings)
    return changes


def _written(
    ctx: Context, words: Sequence[str], changes: Changes, way: Way, *, strict: bool, dry_run: bool
) -> ExitCode:
    client: Client = ctx.client()
    writer = Writer(ctx, client, changes, way)
    return write_all(ctx, writer, FileNames(ctx, client).many(words), strict=strict, dry_run=dry_run)


def _use_manage_token(ctx: Context, path: str) -> None:
    """Talk with the manage token in ``path`` from here on, and with no other credential."""
    from docshare.cli.connection import keep_secret

    try:
        token = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeError) as error:
        raise Stop(ExitCode.USAGE, f"--manage-token-file: cannot read {path}: {error}", code="local_file") from error
    if not token:
        raise Stop(ExitCode.USAGE, f"--manage-token-file: {path} is empty")
    ctx.connection = ctx.connection._replace(token=keep_secret(ctx, token), source=f"--manage-token-file {path}")
