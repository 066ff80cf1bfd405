"""``docshare config``: show and change the settings and their origins."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from docshare.cli.commands.config.default_profile import make_default
from docshare.cli.commands.config.values import KEYS, PROFILE, parse_key, parse_value
from docshare.cli.framework.app import App
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.dry_run import DryRun, preview_changes
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local import cache, config, credentials, settings
from docshare.cli.terminal.cells import format_cell
from docshare.cli.terminal.output import Column, Spec
from docshare.client.address import parse_origin

app = App(
    """Show, change, and explain the settings of the command line.

    Precedence, from highest to lowest: options, environment variables, the profile in config.toml, built-in defaults.
    Changes apply to the current profile; --profile selects another. Credentials are stored in a separate file.

    Examples:

      docshare config list --origin
      docshare config set timeout 2m --profile work
      docshare config edit
    """
)


def _format_value(row: Mapping[str, Any]) -> str:
    return format_cell(row["value"])


_KEY = Column("key", "KEY", role="bold")
_VALUE = Column("value", "VALUE", flexible=True, show=_format_value)
_ORIGIN = Column("origin", "ORIGIN", rank=1)
_LIST = Spec(table=(_KEY, _VALUE), plain=("key", "value"), id="key")
_ORIGINS = Spec(table=(_KEY, _VALUE, _ORIGIN), plain=("key", "value", "origin"), id="key")
_SETTING = Spec(plain=("value",), fields=("key", "origin"), id="value", human=lambda row, _: (_format_value(row),))
_PATH = Spec(plain=("path",), fields=("exists",), id="path", human=lambda row, _: (format_cell(row["path"]),))

Key = Annotated[str, typer.Argument(metavar="CONFIG", help=f"One of {', '.join(KEYS)}.")]


def _build_row(ctx: Context, key: str) -> dict[str, Any]:
    found = settings.resolve_profile(ctx) if key == PROFILE else settings.resolve_setting(ctx, key)
    return {"key": key, "value": found.value, "origin": found.origin}


@app.command("list", spec=_ORIGINS)
def list_settings(
    origin: Annotated[bool, typer.Option("--origin", help="Show the origin of each value.")] = False,
) -> None:
    """List the settings in effect.

    Global options apply: docshare config list --profile work shows the settings of that profile.

    Examples:

      docshare config list
      docshare config list --origin
      docshare config list --origin --json
    """
    ctx = current_context()
    printer = ctx.emitter(_ORIGINS if origin else _LIST)
    rows = [_build_row(ctx, key) for key in KEYS]
    printer.emit([row if origin else {"key": row["key"], "value": row["value"]} for row in rows])


@app.command("get", spec=_SETTING)
def get(key: Key) -> None:
    """Print the value of a setting.

    Prints the effective value, whatever its origin. The exit code is 3 if there is none.

    Examples:

      docshare config get url
      docshare config get timeout --json
    """
    ctx = current_context()
    row = _build_row(ctx, parse_key(key))
    if row["value"] is None:
        raise Stop(ExitCode.NOT_FOUND, f"{row['key']} is not set", hint=f"Set it with: docshare config set {key} VALUE")
    ctx.emit(row, _SETTING)


@app.command("set")
def set_(
    key: Key,
    value: Annotated[
        str, typer.Argument(metavar="VALUE", help="New value; durations as 30s or 5m, switches as true or false.")
    ],
    dry_run: DryRun = False,
) -> ExitCode:
    """Change a setting of the current profile.

    Only one line of config.toml changes; comments are kept. The key profile sets the default profile.

    Examples:

      docshare config set format json
      docshare config set timeout 2m --profile work
      docshare config set profile work
    """
    ctx = current_context()
    known = parse_key(key)
    if known == PROFILE:
        return make_default(ctx, value, dry_run=dry_run)
    name = _require_profile(ctx)
    wanted, before = parse_value(known, value), ctx.config.profiles[name].get(known)
    if dry_run:
        return preview_changes(ctx, ("WRITE", ctx.config.path, {"profile": name, known: wanted}))
    config.save_profile(ctx.config_dir, name, {known: wanted})
    was = "" if before is None else f" (was {format_cell(before)})"
    ctx.note(f"{known} of profile {name} is now {format_cell(wanted)}{was}")
    _update_completion(ctx, known)
    _warn_if_overridden(ctx, known)
    if known == "url":
        _warn_about_credential(ctx, name, wanted)
    return ExitCode.OK


@app.command("unset")
def unset(key: Key, dry_run: DryRun = False) -> ExitCode:
    """Remove a setting of the current profile.

    The built-in default applies again. The key profile removes the default profile. Removing a setting that is not set
    is not an error.

    Examples:

      docshare config unset format
      docshare config unset timeout --profile work
    """
    ctx = current_context()
    known = parse_key(key)
    name = None if known == PROFILE else _require_profile(ctx)
    if dry_run:
        about = {known: None} if name is None else {"profile": name, known: None}
        return preview_changes(ctx, ("WRITE", ctx.config.path, about))
    config.remove_value(ctx.config_dir, name, known)
    if name is None:
        cache.remember_default(ctx, "")
        ctx.note("no profile is the default now")
    else:
        ctx.note(f"{known} of profile {name} is no longer set")
        _update_completion(ctx, known)
        _warn_if_overridden(ctx, known)
    return ExitCode.OK


@app.command("path", spec=_PATH)
def path() -> None:
    """Print the path of config.toml.

    Examples:

      docshare config path
      cat "$(docshare config path)"
    """
    ctx = current_context()
    place = ctx.config_dir / config.FILE_NAME
    ctx.emit({"path": str(place), "exists": place.is_file()}, _PATH)


@app.command("edit")
def edit(dry_run: DryRun = False) -> ExitCode:
    """Edit config.toml in your editor.

    The command opens a copy in the editor of VISUAL or EDITOR and saves it only if every line is valid. Otherwise it
    prints the errors and, on a terminal, offers to edit again. With -n, the copy is validated and discarded.

    Examples:

      docshare config edit
      EDITOR=nano docshare config edit
    """
    from docshare.cli.commands.config.edit import edit_config

    return edit_config(current_context(), dry_run=dry_run)


def _require_profile(ctx: Context) -> str:
    """Return the profile to change. Raise Stop (2) if none exists."""
    name = settings.resolve_profile(ctx).value
    if name is None:
        hint = "Add one with: docshare profile add NAME --url URL"
        raise Stop(ExitCode.USAGE, "settings belong to a profile, and none exists", hint=hint)
    return str(name)


def _update_completion(ctx: Context, key: str) -> None:
    """Update the cache of shell completion, which does not read the configuration."""
    if key == "complete_online":
        cache.remember_online(ctx, config.CliConfig.load(ctx.config_dir).profiles)


def _warn_if_overridden(ctx: Context, key: str) -> None:
    origin = settings.resolve_setting(ctx, key).origin
    if origin.startswith(("env ", "option ")):
        ctx.warn(f"{origin} overrides the profile")


def _warn_about_credential(ctx: Context, name: str, url: str) -> None:
    """Warn that the credential, which is bound to its server, is not sent to a new URL."""
    saved = credentials.load(ctx.config_dir, name)
    if saved is not None and saved.origin != parse_origin(url):
        ctx.warn(f"the credential of profile {name} belongs to {saved.origin}; run: docshare auth login")
