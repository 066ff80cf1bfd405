"""The server and the credential in effect, each with its origin.

A saved credential is bound to the origin it was saved for and is never sent to another URL.
"""

import sys
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local import credentials
from docshare.cli.local.completion_words import hash_token
from docshare.cli.local.settings import SettingValue, resolve_duration, resolve_profile, resolve_setting
from docshare.client.address import parse_origin

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.cli.framework.local_server import LocalServer
    from docshare.client import Client
    from docshare.client.options import Exchange

_LOCAL_PROFILE = "local"  # the profile that ``docshare serve`` keeps
_COMMAND_TIMEOUT_S = 10
_MAX_TIMEOUT_S = 366 * 86_400.0  # seconds; sockets do not take every number
_MIN_SECRET_CHARS = 6  # shorter secrets match ordinary words of the output and are not redacted
_SECRET_NAMES = ("authorization", "cookie", "token", "secret", "password", "code")


class Connection(NamedTuple):
    """The URL and the credential in effect.

    ``token``: the credential, a function that returns it, or None; ``source``: its origin, or why there is none;
    ``home``: the origin under which this program caches ids of that server; ``account``: the account of those ids.
    """

    profile: SettingValue
    url: SettingValue
    origin: str
    token: str | Callable[[], str] | None
    source: str
    account: str = ""

    @property
    def home(self) -> str:
        """The origin under which ids of the server are cached."""
        return self.origin

    @property
    def is_overridden(self) -> bool:
        """Whether the environment or an option overrides the server or credential of the profile."""
        return not self.url.origin.startswith(("profile ", "built-in")) or self.source.startswith("env ")


def resolve_connection(context: "Context") -> Connection:
    """Determine URL and credential without sending or running anything. Raise Stop (2) for an invalid URL."""
    name, url = resolve_profile(context), resolve_setting(context, "url")
    origin = parse_origin(str(url.value))
    if not origin:
        raise Stop(ExitCode.USAGE, f"{url.value!r} ({url.origin}) is not an http or https URL")
    return Connection(name, url, origin, *_find_credential(context, name.value, origin))


def _find_credential(
    context: "Context", name: str | None, origin: str
) -> tuple[str | Callable[[], str] | None, str, str]:
    """Return the credential, its source, and a name for its account."""
    given = context.env.get("DOCSHARE_TOKEN", "").strip()
    if given:
        return keep_secret(context, given), "env DOCSHARE_TOKEN", hash_token(given)
    if name is None:
        return None, "no profile is configured", ""
    values = context.config.profiles[name]
    if "token_command" in values and parse_origin(str(values.get("url", ""))) == origin:
        # Run on the first request only, and once: a password manager may prompt each time.
        return (
            cache(lambda: _run_token_command(context, values["token_command"])),
            f"token_command of profile {name}",
            name,
        )
    saved = credentials.load(context.config_dir, name)
    if saved is None:
        return None, f"profile {name} has no credential", name
    if saved.origin != origin:
        return None, f"the credential of profile {name} belongs to {saved.origin}", name
    if credentials.is_readable_by_others(context.config_dir):
        context.warn(f"other users can read {context.config_dir / credentials.FILE_NAME}; run chmod 600 on it")
    source = f"credentials.json, profile {name}"
    if saved.renewable:
        return lambda: keep_secret(context, _get_fresh_token(context, name)), source, saved.account or name
    return keep_secret(context, saved.token), source, saved.account or hash_token(saved.token)


def _get_fresh_token(context: "Context", name: str) -> str:
    from docshare.cli.local.token_refresh import ensure_fresh_token

    return ensure_fresh_token(context, name)


def keep_secret(context: "Context", secret: str) -> str:
    """Return ``secret``, which every later message and report redacts."""
    if len(secret) >= _MIN_SECRET_CHARS:
        context.secrets.add(secret)
    return secret


def _run_token_command(context: "Context", command: str) -> str:
    import shlex
    import subprocess

    try:
        done = subprocess.run(
            shlex.split(command), stdout=subprocess.PIPE, timeout=_COMMAND_TIMEOUT_S, check=True, text=True
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        why = "it timed out" if isinstance(error, subprocess.TimeoutExpired) else str(error)
        raise Stop(ExitCode.CREDENTIAL, f"token_command failed: {why}") from error
    token = done.stdout.strip()
    if not token:
        raise Stop(ExitCode.CREDENTIAL, "token_command printed nothing")
    return keep_secret(context, token)


def make_client(context: "Context") -> "Client":
    """Return a client for the connection in effect. Raise Stop (4) if it has no credential."""
    connection = context.connection
    if connection.token is None:
        raise Stop(ExitCode.CREDENTIAL, f"no credential for {connection.origin}: {connection.source}", hint=_LOGIN_HINT)
    return _build_client(context, str(connection.url.value), connection.token, _find_local_server(context, connection))


def _find_local_server(context: "Context", connection: Connection) -> "LocalServer | None":
    """Return access to the server on this host's data directory, if it is the one in effect."""
    if not (context.data_dir / "server.json").is_file():
        return None
    from docshare.cli.framework.local_server import read_local_server

    by_profile = connection.url.origin == f"profile {_LOCAL_PROFILE}"
    return read_local_server(context.data_dir, connection.origin, by_public_address=by_profile)


def make_anonymous_client(context: "Context", base: str | None = None) -> "Client":
    """Return a client without a credential for the server at ``base`` (None: the one in effect)."""
    return _build_client(context, base or str(resolve_setting(context, "url").value), None)


def make_token_client(context: "Context", base: str, token: str) -> "Client":
    """Return a client of the server at ``base`` that uses ``token``, whatever is in effect. Raises ``BadAddress``."""
    return _build_client(context, base, token)


def _build_client(
    context: "Context", base: str, token: str | Callable[[], str] | None, door: "LocalServer | None" = None
) -> "Client":
    from docshare import __version__
    from docshare.cli.framework.http_library import CommandClient
    from docshare.client.clock import Clock

    client = CommandClient(
        base,
        token,
        user_agent=f"docshare/{__version__} (python {sys.version.split()[0]}; {sys.platform})",
        timeout=_find_timeout(context),
        retries=int(resolve_setting(context, "retries").value),
        max_wait=resolve_duration(context, "max_wait"),
        on_wait=lambda reason, seconds: _report_wait(context, reason, seconds),
        on_exchange=_ExchangeLog(context).exchange,
        verify=resolve_setting(context, "ca_bundle").value or True,
        allow_http=door is not None or bool(resolve_setting(context, "allow_http").value),
        clock=Clock(wall=lambda: context.now() / 1000, monotonic=context.monotonic, sleep=context.sleep),
    )
    if door is not None:
        client.go_through(door)
    return client


def _find_timeout(context: "Context") -> float:
    """Return the seconds to wait for a response. Raise Stop (2) for 0."""
    found = resolve_duration(context, "timeout")
    if found <= 0:
        raise Stop(ExitCode.USAGE, "--timeout must be greater than 0", hint="Example: --timeout 30s.")
    return min(found, _MAX_TIMEOUT_S)


_LOGIN_HINT = "Set DOCSHARE_TOKEN, or run: docshare auth login"


def _report_wait(context: "Context", reason: str, seconds: float) -> None:
    if seconds >= 1:
        context.note(f"{reason}, waiting {round(seconds)} s")


class _ExchangeLog:
    """Prints each exchange for ``-v`` and ``-vv``, and one warning about a deprecated route."""

    def __init__(self, context: "Context") -> None:
        self._ctx = context
        self._told = False

    def exchange(self, exchange: "Exchange") -> None:
        """Print one finished exchange."""
        from urllib.parse import urlsplit

        path = urlsplit(exchange.url).path
        self._ctx.trace(f"{exchange.method} {path} {exchange.status} {exchange.seconds * 1000:.0f} ms")
        for mark, headers in ((">", exchange.request_headers), ("<", exchange.headers)):
            for key, value in headers.items():
                self._ctx.trace(f"  {mark} {key}: {'***' if is_secret_name(key) else value}", level=2)
        self._notice({key.lower(): value for key, value in exchange.headers.items()}, path)

    def _notice(self, headers: dict[str, str], path: str) -> None:
        if self._told or not headers.keys() & {"deprecation", "sunset"}:
            return
        self._told = True
        end = f" and will be removed on {headers['sunset']}" if "sunset" in headers else ""
        self._ctx.warn(f"{path} of this server is deprecated{end}; update docshare")


def is_secret_name(name: str) -> bool:
    """Whether a header or field of this name may hold a secret."""
    return any(word in name.lower() for word in _SECRET_NAMES)
