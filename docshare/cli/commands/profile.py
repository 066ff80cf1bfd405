"""``docshare profile``: manage servers and credentials by name."""

from typing import Annotated, Any

import typer

from docshare.cli.commands.config.default_profile import check_profile_exists, make_default
from docshare.cli.framework import prompts
from docshare.cli.framework.app import App
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.dry_run import HIDDEN, DryRun, preview_changes
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import read_line
from docshare.cli.local import cache, credentials
from docshare.cli.local.config import check_profile_name, remove_profile, save_profile, use_profile
from docshare.cli.local.settings import resolve_profile as profile_in_effect
from docshare.cli.terminal.output import Column, Spec
from docshare.client.address import parse_address, parse_origin

app = App(
    """Manage servers and credentials by name.

    A profile is the address of a server and a credential for it. One profile is the default; --profile and
    DOCSHARE_PROFILE select another.

    Examples:

      docshare profile add work --url https://docs.example --with-token < key.txt
      docshare profile use work
      docshare profile list
    """
)

_PROFILES = Spec(
    table=(
        Column("name", "NAME", role="bold"),
        Column("default", "DEFAULT", kind="flag", rank=2),
        Column("url", "URL", role="id", flexible=True),
        Column("credential", "CREDENTIAL", rank=1),
    ),
    plain=("name", "url", "default", "credential"),
    id="name",
    empty="no profiles; docshare serve creates one, or: docshare profile add NAME --url URL",
)

_CURRENT = Spec(
    table=_PROFILES.table,
    plain=("name",),
    fields=("url", "default", "credential", "origin"),
    id="name",
)

_NAME = typer.Argument(metavar="PROFILE", help="The name of the profile.")


@app.command("list", spec=_PROFILES)
def list_profiles() -> None:
    """List the profiles.

    Examples:

      docshare profile list
      docshare profile list --json
    """
    ctx = current_context()
    rows = [_build_row(ctx, name) for name in ctx.config.profiles]
    ctx.emit(rows, _PROFILES)
    cache.remember_profiles(ctx, {row["name"]: str(row.get("url", "")) for row in rows})


def _build_row(ctx: Context, name: str) -> dict[str, Any]:
    values = ctx.config.profiles[name]
    saved = credentials.load(ctx.config_dir, name)
    kind = "command" if "token_command" in values else "none" if saved is None else f"ends in {saved.token[-4:]}"
    row = {"name": name, "default": name == ctx.config.default_profile, "credential": kind}
    return {**row, **({"url": values["url"]} if "url" in values else {})}


@app.command("current", spec=_CURRENT)
def current_profile() -> None:
    """Print the profile in effect.

    The exit code is 3 if no profile exists.

    Examples:

      docshare profile current
      docshare profile current --json
    """
    ctx = current_context()
    name = profile_in_effect(ctx)
    if name.value is None:
        raise Stop(ExitCode.NOT_FOUND, "no profile exists", hint="Add one with: docshare profile add NAME --url URL")
    row = {**_build_row(ctx, name.value), "origin": name.origin}
    ctx.emit(row, _CURRENT)


@app.command("use")
def use(name: Annotated[str, _NAME], dry_run: DryRun = False) -> ExitCode:
    """Make a profile the default.

    Examples:

      docshare profile use work
    """
    return make_default(current_context(), name, dry_run=dry_run)


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the new profile.")],
    url: Annotated[str | None, typer.Option("--url", metavar="URL", help="URL of the server.")] = None,
    with_token: Annotated[bool, typer.Option("--with-token", help="Read the API key from stdin.")] = False,
    token_command: Annotated[
        str | None, typer.Option(metavar="CMD", help="Command that prints the credential, run each time.")
    ] = None,
    use_it: Annotated[bool, typer.Option("--use", help="Make it the default profile.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Change an existing profile.")] = False,
    dry_run: DryRun = False,
) -> ExitCode:
    """Add a profile.

    On a terminal, the command prompts for the API key without echo; elsewhere, pass it on stdin with --with-token. The
    key is stored in credentials.json (mode 0600) and sent only to this server. The first profile becomes the default.

    Examples:

      docshare profile add work --url https://docs.example
      docshare profile add ci --url https://docs.example --with-token < key.txt
      docshare profile add vault --url https://docs.example --token-command 'pass show docshare'
    """
    ctx = current_context()
    check_profile_name(name)
    if url is None:
        raise Stop(ExitCode.USAGE, "--url is required")
    if name in ctx.config.profiles and not force:
        raise Stop(ExitCode.CONFLICT, f"profile {name} already exists", hint="Use --force to change it.")
    if with_token and token_command:
        raise Stop(ExitCode.USAGE, "--with-token and --token-command cannot be used together")
    address = parse_address(url, with_token=False, allow_http=True)
    values = {"url": address.base, **({"token_command": token_command} if token_command else {})}
    if dry_run:
        saved = {"profile": name, "origin": parse_origin(url), "token": HIDDEN}
        secrets = [] if token_command else [("WRITE", ctx.config_dir / credentials.FILE_NAME, saved)]
        return preview_changes(ctx, ("WRITE", ctx.config.path, {"profile": name, **values}), *secrets)
    token = None if token_command else _read_token(ctx, with_token)
    save_profile(ctx.config_dir, name, values)
    credentials.save(ctx.config_dir, name, credentials.Credential(parse_origin(url), token) if token else None)
    cache.forget_home(ctx, name)
    if use_it:
        use_profile(ctx.config_dir, name)
    ctx.note(f"profile {name} saved for {address.base}")
    return ExitCode.OK


def _read_token(ctx: Context, from_stdin: bool) -> str:
    token = (
        read_line(ctx, "--with-token").strip()
        if from_stdin
        else prompts.prompt_secret(ctx, "API key", instead="Use --with-token.")
    )
    if not token:
        raise Stop(ExitCode.USAGE, "no API key given")
    return token


@app.command("remove")
def remove(name: Annotated[str, _NAME], dry_run: DryRun = False) -> ExitCode:
    """Remove a profile and its credential.

    Examples:

      docshare profile remove work --yes
    """
    ctx = current_context()
    check_profile_exists(ctx, name)
    if dry_run:
        places = (ctx.config_dir / credentials.FILE_NAME, ctx.config.path)
        return preview_changes(ctx, *(("DELETE", place, {"profile": name}) for place in places))
    prompts.confirm(ctx, f"Remove profile {name} and delete its credential?")
    credentials.save(ctx.config_dir, name, None)
    cache.forget_home(ctx, name)
    remove_profile(ctx.config_dir, name)
    ctx.note(f"profile {name} removed")
    return ExitCode.OK
