"""``docshare auth``: log in and out, and show the active credential."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from docshare.cli.framework import prompts
from docshare.cli.framework.app import App, Stub
from docshare.cli.framework.clients import build_client, make_anonymous_client
from docshare.cli.framework.connection import keep_secret
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.dry_run import HIDDEN, DryRun, format_body, print_requests
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import read_line
from docshare.cli.framework.options import split_words
from docshare.cli.local import cache, credentials
from docshare.cli.local.config import check_profile_name, save_profile
from docshare.cli.local.credentials import Credential
from docshare.cli.local.settings import BUILT_IN_URL, resolve_profile_name
from docshare.cli.local.token_refresh import renew
from docshare.cli.terminal.output import Column, Spec
from docshare.client.address import parse_address, parse_origin
from docshare.client.errors import ClientError, Refused
from docshare.client.login.credentials import build_credential
from docshare.contract.problems import Problem
from docshare.contract.scopes import DEVICE_GRANT_TYPE, SCOPES, normalize_scopes
from docshare.contract.wire import format_instant

if TYPE_CHECKING:
    from docshare.client import Client
    from docshare.client.oauth import AuthorizationServer, IssuedTokens

    _Login = Callable[[Context, Client, AuthorizationServer, str, str], IssuedTokens]

app = App(
    """Log in and out, and show the active credential.

    Logging in opens the browser if the server supports OAuth, and prompts for an API key otherwise. Scripts set
    DOCSHARE_TOKEN, or pass a key to --with-token.

    Examples:

      docshare auth login --url https://docs.example.com
      docshare auth status
    """,
    stubs=(Stub("keys", "auth.keys", "Commands", "Create, list, and revoke API keys with limited access."),),
)

CLIENT_ID = "docshare-cli"  # known to every docshare server
_VISIBLE_CHARS = 4  # characters of a credential that are shown

_STATUS = Spec(
    table=(
        Column("profile", "profile", role="bold"),
        Column("origin", "server"),
        Column("account", "account"),
        Column("kind", "credential"),
        Column("source", "source", role="dim"),
        Column("scopes", "scopes", show=lambda row: ", ".join(row.get("scopes", ()))),
        Column("expiresAt", "expires", kind="moment"),
    ),
    plain=("profile", "origin", "account", "kind", "source", "scopes", "expiresAt"),
    id="account",
)
_TOKEN = Spec(plain=("token",), id="token")


@app.command("login")
def login(
    with_token: Annotated[bool, typer.Option("--with-token", help="Read an API key from stdin.")] = False,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the login URL, then read the redirect URL from stdin.")
    ] = False,
    device: Annotated[
        bool, typer.Option("--device", help="Print a code; enter it on another device, such as a phone.")
    ] = False,
    scope: Annotated[
        list[str] | None, typer.Option(metavar="A,B", help="Request only these scopes, such as files:write.")
    ] = None,
    callback_port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="Port for the OAuth callback; 0 selects a free port.")
    ] = 0,
    client_id: Annotated[str | None, typer.Option(metavar="ID", help="Log in as this registered app.")] = None,
    dry_run: DryRun = False,
) -> ExitCode:
    """Log in and save the credential in a profile.

    The server is that of --url or of the profile. The profile is that of --profile, or a new one named after the
    server. The credential is stored in credentials.json (mode 0600) and sent only to its server. Access granted in the
    browser is renewed automatically until 'docshare auth logout'. Over SSH, --device needs no browser on this machine.

    Examples:

      docshare auth login --url https://docs.example.com
      docshare auth login --device
      docshare auth login --no-browser
      docshare auth login --scope files:read,files:write --profile ci
      docshare auth login --with-token < key.txt
    """
    ctx = current_context()
    name, url = _choose_profile(ctx)
    _forget_profile_option(ctx, name)
    wanted = parse_scopes(scope or list(SCOPES))
    kept = {"url": url, **({"client_id": client_id} if client_id else {})}
    if device and (with_token or no_browser or callback_port):
        raise Stop(
            ExitCode.USAGE, "--device cannot be used together with --with-token, --no-browser, or --callback-port"
        )
    if dry_run:
        grant = {"client_id": _client_id(ctx, name, client_id), "scope": wanted}
        begun = ("POST", "/oauth/device_authorization") if device else ("GET", "/oauth/authorize")
        kind = DEVICE_GRANT_TYPE if device else "authorization_code"
        asked = [] if with_token else [(*begun, grant), _describe_exchange(kind, grant)]
        return _preview_changes(
            ctx, *asked, ("WRITE", str(ctx.config.path), {"profile": name, **kept}), _describe_save(ctx, name)
        )
    if with_token:
        credential = Credential(parse_origin(url), _require_key(ctx, read_line(ctx, "--with-token")))
    else:
        log_in: _Login
        if device:
            from docshare.cli.commands.auth.device import log_in_by_device as log_in
        else:
            from docshare.cli.commands.auth.browser import log_in_by_browser

            log_in = partial(log_in_by_browser, port=callback_port, no_browser=no_browser)
        credential = _obtain_credential(ctx, url, _client_id(ctx, name, client_id), wanted, log_in)
    account = _fetch_account(build_client(ctx, url, credential.token))
    email = account.get("email", "")
    save_profile(ctx.config_dir, name, kept)
    credentials.save(ctx.config_dir, name, credential._replace(account=account.get("uuid")))
    cache.forget_home(ctx, name)
    ctx.note(f"logged in to {credential.origin}{f' as {email}' if email else ''}; profile {name}")
    if ctx.config.default_profile not in (None, name):
        ctx.note(f"use it with --profile {name}, or make it the default: docshare profile use {name}")
    if ctx.env.get("DOCSHARE_TOKEN"):
        ctx.warn("DOCSHARE_TOKEN is set and overrides the saved credential")
    return ExitCode.OK


_Change = tuple[str, str, Mapping[str, Any]]


def _preview_changes(ctx: Context, *changes: _Change) -> ExitCode:
    """Print the requests and changes of ``--dry-run``."""
    return print_requests(ctx, [(verb, place, format_body(values)) for verb, place, values in changes])


def _describe_exchange(grant_type: str, client: Mapping[str, str]) -> _Change:
    secret = {"authorization_code": "code", DEVICE_GRANT_TYPE: "device_code"}.get(grant_type, grant_type)
    return "POST", "/oauth/token", {"grant_type": grant_type, secret: HIDDEN, "client_id": client["client_id"]}


def _describe_save(ctx: Context, profile: str) -> _Change:
    return "WRITE", str(ctx.config_dir / credentials.FILE_NAME), {"profile": profile, "token": HIDDEN}


def _choose_profile(ctx: Context) -> tuple[str, str]:
    """Return the profile for the credential and the URL of its server."""
    named = resolve_profile_name(ctx).value
    known = ctx.config.profiles
    given = ctx.options.url or ctx.env.get("DOCSHARE_URL")
    url = given or (known.get(named, {}).get("url") if named else None) or BUILT_IN_URL
    base = parse_address(str(url), with_token=True, allow_http=bool(ctx.options.allow_http)).base
    explicit = bool(ctx.options.profile or ctx.env.get("DOCSHARE_PROFILE"))
    if named and (explicit or parse_origin(str(known.get(named, {}).get("url", ""))) == parse_origin(base)):
        return check_profile_name(named), base
    of_server = [name for name, row in known.items() if parse_origin(str(row.get("url", ""))) == parse_origin(base)]
    return (of_server[0] if of_server else _suggest_profile_name(base, known)), base


def _forget_profile_option(ctx: Context, name: str) -> None:
    """Ignore the profile option if profile ``name`` does not exist yet, so that its settings are not looked up."""
    if name not in ctx.config.profiles:
        ctx.options = ctx.options._replace(profile=None)
        ctx.env = {key: value for key, value in ctx.env.items() if key != "DOCSHARE_PROFILE"}


def _suggest_profile_name(base: str, known: Any) -> str:
    """Return a name for a new profile, derived from the host of the server."""
    host = urlsplit(base).hostname or "server"
    plain = "".join(char if char.isascii() and char.isalnum() else "-" for char in host).strip("-")[:40] or "server"
    names = (plain, *(f"{plain}-{number}" for number in range(2, 1000)))
    return next(name for name in names if name not in known)


def parse_scopes(asked: Sequence[str]) -> str:
    """Return the scopes of ``--scope`` with spaces between. Raise Stop (2) for none, or for an unknown one."""
    found = normalize_scopes(" ".join(split_words(asked)))
    if found is None:
        raise Stop(
            ExitCode.USAGE, f"--scope: unknown scope in {', '.join(asked)!r}", hint=f"Scopes: {', '.join(SCOPES)}."
        )
    return found


def _client_id(ctx: Context, profile: str, given: str | None) -> str:
    return given or str(ctx.config.profiles.get(profile, {}).get("client_id", CLIENT_ID))


def _require_key(ctx: Context, text: str) -> str:
    token = text.strip()
    if not token:
        raise Stop(ExitCode.USAGE, "no API key given")
    return keep_secret(ctx, token)


def _obtain_credential(ctx: Context, url: str, client_id: str, scopes: str, log_in: "_Login") -> Credential:
    """Return a credential from ``log_in``, or an API key if the server does not support OAuth."""
    with make_anonymous_client(ctx, url) as client:
        try:
            server = client.oauth.server()
        except Refused as refusal:
            if refusal.status != 404:
                raise
            ctx.note(f"{client.origin} does not support OAuth; enter an API key")
            asked = prompts.prompt_secret(ctx, "API key", instead="Use --with-token and pass the key on stdin.")
            return Credential(client.origin, _require_key(ctx, asked))
        tokens = log_in(ctx, client, server, client_id, scopes)
        keep_secret(ctx, tokens.access)
        keep_secret(ctx, tokens.refresh or "")
        return build_credential(client.origin, client_id, tokens, ctx.now())


def _fetch_account(client: "Client") -> Mapping[str, Any]:
    """Return the account of the credential, or nothing if it lacks the scope. Raise Refused (401) if it is invalid."""
    with client:
        try:
            return client.account.show()
        except Refused as refusal:
            if refusal.status != 403:
                raise
            return {}


@app.command("status", spec=_STATUS)
def status() -> None:
    """Show the active credential, and check that it works.

    The exit code is 4 if there is no credential or it is rejected.

    Examples:

      docshare auth status
      docshare auth status --json --profile work
    """
    ctx = current_context()
    connection = ctx.connection
    client = ctx.client()
    token = connection.token() if callable(connection.token) else str(connection.token)
    saved = _load_saved(ctx)
    row: dict[str, Any] = {
        "profile": connection.profile.value or "",
        "origin": connection.origin,
        "source": connection.source,
        "kind": f"{'OAuth' if saved and saved.is_renewable else 'API key'}, ends in {token[-_VISIBLE_CHARS:]}",
    }
    account = _fetch_account(client).get("email")
    row |= {"account": account} if account else {}
    if saved and saved.is_renewable and saved.expires_at is not None:
        row |= {"scopes": (saved.scopes or "").split(), "expiresAt": format_instant(saved.expires_at)}
    ctx.emit(row, _STATUS)


def _load_saved(ctx: Context) -> Credential | None:
    """Return the saved credential if it is the active one."""
    name = ctx.connection.profile.value
    if name is None or not ctx.connection.source.startswith(credentials.FILE_NAME):
        return None
    return credentials.load(ctx.config_dir, name)


@app.command("token", spec=_TOKEN)
def token() -> None:
    """Print the active credential, for use by other programs.

    A credential that is about to expire is renewed first.

    Examples:

      curl -H "Authorization: Bearer $(docshare auth token)" https://docs.example.com/api/v1/files
    """
    ctx = current_context()
    ctx.client()  # raises Stop without a credential
    held = ctx.connection.token
    text = held() if callable(held) else str(held)
    ctx.secrets.discard(text)
    ctx.emit({"token": text}, _TOKEN)


@app.command("refresh")
def refresh(dry_run: DryRun = False) -> ExitCode:
    """Renew the access granted in the browser.

    Other commands renew it automatically when it is about to expire.

    Examples:

      docshare auth refresh
    """
    ctx = current_context()
    saved = _load_saved(ctx)
    if saved is None or not saved.is_renewable:
        raise Stop(
            ExitCode.USAGE,
            "the active credential cannot be renewed",
            hint="API keys do not expire. To use OAuth, log in with: docshare auth login",
        )
    name = str(ctx.connection.profile.value)
    if dry_run:
        return _preview_changes(
            ctx, _describe_exchange("refresh_token", {"client_id": str(saved.client_id)}), _describe_save(ctx, name)
        )
    renew(ctx, name)
    ctx.note("renewed")
    return ExitCode.OK


@app.command("logout")
def logout(dry_run: DryRun = False) -> ExitCode:
    """Log out: revoke access and delete the saved credential.

    Access granted in the browser is revoked on the server. An API key is only deleted here and stays valid; revoke it
    on the server.

    Examples:

      docshare auth logout
      docshare auth logout --profile work
    """
    ctx = current_context()
    name = ctx.connection.profile.value
    saved = credentials.load(ctx.config_dir, name) if name else None
    if name is None or saved is None:
        raise Stop(ExitCode.NOT_FOUND, "not logged in", hint="See: docshare auth status")
    if dry_run:
        revoked = ("POST", "/oauth/revoke", {"token": HIDDEN, "client_id": saved.client_id})
        forgotten = ("DELETE", str(ctx.config_dir / credentials.FILE_NAME), {"profile": name})
        return _preview_changes(ctx, *([revoked] if saved.is_renewable else []), forgotten)
    ended = saved.is_renewable and _revoke_access(ctx, saved)
    credentials.save(ctx.config_dir, name, None)
    cache.forget_home(ctx, name)
    still = "" if ended else "; the server could not be notified" if saved.is_renewable else "; the API key stays valid"
    ctx.note(f"logged out of {saved.origin}, profile {name}{still}")
    if ctx.env.get("DOCSHARE_TOKEN"):
        ctx.warn("DOCSHARE_TOKEN is still set")
    return ExitCode.OK


def _revoke_access(ctx: Context, saved: Credential) -> bool:
    """Revoke the credential on the server and return whether that succeeded. Logging out works without it."""
    with suppress(Problem, ClientError), make_anonymous_client(ctx, saved.origin) as client:
        brief = client.fork(retries=0)
        brief.oauth.revoke(brief.oauth.server(), saved.client_id or CLIENT_ID, saved.refresh or saved.token)
        return True
    return False
