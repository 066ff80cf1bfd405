"""The server we talk to and the credential we show it, each with its origin.

A saved credential is bound to the origin it was saved for: with another address in effect it stays at home.
"""

import sys
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local import credentials
from docshare.cli.local.completion_words import hash_token
from docshare.cli.local.settings import SettingValue, resolve_duration, resolve_profile, resolve_setting
from docshare.client.address import origin_of

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.cli.framework.local_server import LocalServer
    from docshare.client import Client
    from docshare.client.options import Exchange

_LOCAL_PROFILE = "local"  # the profile that ``docshare serve`` keeps
_COMMAND_TIMEOUT_S = 10
_MAX_TIMEOUT_S = 366 * 86_400.0  # seconds; sockets do not take every number
_MIN_SECRET_CHARS = 6  # anything shorter is a word of the output, not worth hiding
_SECRET_NAMES = ("authorization", "cookie", "token", "secret", "password", "code")


class Connection(NamedTuple):
    """``token``: the credential, a way to get it, or None; ``source``: where it came from, or why there is none.

    ``home``: the origin under which this program remembers ids of that server; ``account``: whose they are.
    """

    profile: SettingValue
    url: SettingValue
    origin: str
    token: str | Callable[[], str] | None
    source: str
    account: str = ""

    @property
    def home(self) -> str:
        """As said above."""
        return self.origin

    @property
    def is_overridden(self) -> bool:
        """Whether the environment or an option names another server or credential than the profile does."""
        return not self.url.origin.startswith(("profile ", "built-in")) or self.source.startswith("env ")


def resolve_connection(context: "Context") -> Connection:
    """Decide address and credential; nothing is sent and no command is run yet. Stop (2) for a bad address."""
    name, url = resolve_profile(context), resolve_setting(context, "url")
    origin = origin_of(str(url.value))
    if not origin:
        raise Stop(ExitCode.USAGE, f"{url.value!r} ({url.origin}) is not an http or https address")
    return Connection(name, url, origin, *_find_credential(context, name.value, origin))


def _find_credential(
    context: "Context", name: str | None, origin: str
) -> tuple[str | Callable[[], str] | None, str, str]:
    """The credential, its source, and a name for its account."""
    given = context.env.get("DOCSHARE_TOKEN", "").strip()
    if given:
        return keep_secret(context, given), "env DOCSHARE_TOKEN", hash_token(given)
    if name is None:
        return None, "no profile is set up", ""
    values = context.config.profiles[name]
    if "token_command" in values and origin_of(str(values.get("url", ""))) == origin:
        # Asked on the first request, and once: a vault may want a finger or a password for each answer.
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
        context.warn(f"others can read {context.config_dir / credentials.FILE_NAME}; run: chmod 600 on it")
    source = f"credentials.json, profile {name}"
    if saved.renewable:
        return lambda: keep_secret(context, _get_fresh_token(context, name)), source, saved.account or name
    return keep_secret(context, saved.token), source, saved.account or hash_token(saved.token)


def _get_fresh_token(context: "Context", name: str) -> str:
    from docshare.cli.local.token_refresh import ensure_fresh_token

    return ensure_fresh_token(context, name)


def keep_secret(context: "Context", secret: str) -> str:
    """``secret``, from now on hidden in every message and report."""
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
        why = "it took too long" if isinstance(error, subprocess.TimeoutExpired) else str(error)
        raise Stop(ExitCode.CREDENTIAL, f"token_command gave no credential: {why}") from error
    token = done.stdout.strip()
    if not token:
        raise Stop(ExitCode.CREDENTIAL, "token_command printed nothing")
    return keep_secret(context, token)


def make_client(context: "Context") -> "Client":
    """A client for the connection in effect. Stop (4) if there is no credential for it."""
    connection = context.connection
    if connection.token is None:
        raise Stop(ExitCode.CREDENTIAL, f"no credential for {connection.origin}: {connection.source}", hint=_LOGIN_HINT)
    return _build_client(context, str(connection.url.value), connection.token, _find_local_server(context, connection))


def _find_local_server(context: "Context", connection: Connection) -> "LocalServer | None":
    """The way to the server that runs on this host's data directory, if that is the one in effect."""
    if not (context.data_dir / "server.json").is_file():
        return None
    from docshare.cli.framework.local_server import read_local_server

    by_profile = connection.url.origin == f"profile {_LOCAL_PROFILE}"
    return read_local_server(context.data_dir, connection.origin, by_public_address=by_profile)


def make_anonymous_client(context: "Context", base: str | None = None) -> "Client":
    """A client without a credential for the server at ``base`` (None: the one in effect). Raises ``BadAddress``."""
    return _build_client(context, base or str(resolve_setting(context, "url").value), None)


def make_token_client(context: "Context", base: str, token: str) -> "Client":
    """A client of the server at ``base`` that shows it ``token``, whatever is in effect. Raises ``BadAddress``."""
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
    """Seconds to wait for an answer. Stop (2) for none at all."""
    found = resolve_duration(context, "timeout")
    if found <= 0:
        raise Stop(ExitCode.USAGE, "a timeout of 0 leaves no time for an answer", hint="Write it as in --timeout 30s.")
    return min(found, _MAX_TIMEOUT_S)


_LOGIN_HINT = "Set DOCSHARE_TOKEN, or run: docshare auth login"


def _report_wait(context: "Context", reason: str, seconds: float) -> None:
    if seconds >= 1:
        context.note(f"{reason}, waiting {round(seconds)} s")


class _ExchangeLog:
    """What ``-v`` and ``-vv`` show of each exchange, and the one notice about a route that is going away."""

    def __init__(self, context: "Context") -> None:
        self._ctx = context
        self._told = False

    def exchange(self, exchange: "Exchange") -> None:
        """Tell one answered request."""
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
        end = f" and ends on {headers['sunset']}" if "sunset" in headers else ""
        self._ctx.warn(f"{path} of this server is deprecated{end}; look for a newer docshare")


def is_secret_name(name: str) -> bool:
    """Whether what is called so, a header or a field, may hold a secret."""
    return any(word in name.lower() for word in _SECRET_NAMES)
