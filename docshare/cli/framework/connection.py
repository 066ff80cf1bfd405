"""The server and the credential in effect, each with its origin.

A saved credential is bound to the origin it was saved for and is never sent to another URL.
"""

import subprocess
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from docshare.cli.framework.clients import build_client
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local import credentials
from docshare.cli.local.paths import hash_credential
from docshare.cli.local.settings import SettingValue, resolve_profile, resolve_setting
from docshare.cli.local.token_refresh import ensure_fresh_token, renew
from docshare.client.address import parse_origin

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.client import Client

_COMMAND_TIMEOUT_S = 10
_COMMAND_SOURCE = "token_command"
_MIN_SECRET_CHARS = 6  # shorter secrets match ordinary words of the output and are not redacted


class Connection(NamedTuple):
    """The URL and the credential in effect.

    ``token``: the credential, a function that returns it, or None; ``source``: its origin, or why there is none;
    ``origin``: the origin under which this program caches ids of that server; ``account``: the UUID of the account of
    those ids, or a name of the credential if the account is not saved with it (see ``docshare.cli.local.accounts``).
    """

    profile: SettingValue
    url: SettingValue
    origin: str
    token: str | Callable[[], str] | None
    source: str
    account: str = ""

    @property
    def cache_origin(self) -> str:
        """Return the origin under which ids of the server are cached."""
        return self.origin

    @property
    def runs_command(self) -> bool:
        """Return whether a command prints the credential, which may be another one each time."""
        return self.source.startswith(_COMMAND_SOURCE)

    @property
    def is_overridden(self) -> bool:
        """Return whether the environment or an option overrides the server or credential of the profile."""
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
    """Return the credential, its source, and its account or name."""
    given = context.env.get("DOCSHARE_TOKEN", "").strip()
    if given:
        return keep_secret(context, given), "env DOCSHARE_TOKEN", hash_credential(given)
    if name is None:
        return None, "no profile is configured", ""
    values = context.config.profiles[name]
    if "token_command" in values and parse_origin(str(values.get("url", ""))) == origin:
        # Run on the first request only, and once: a password manager may prompt each time.
        return (
            _run_once(lambda: _run_token_command(context, values["token_command"])),
            f"{_COMMAND_SOURCE} of profile {name}",
            hash_credential(values["token_command"]),
        )
    saved = credentials.load(context.config_dir, name)
    if saved is None:
        return None, f"profile {name} has no credential", name
    if saved.origin != origin:
        return None, f"the credential of profile {name} belongs to {saved.origin}", name
    if credentials.is_readable_by_others(context.config_dir):
        context.warn(f"other users can read {context.config_dir / credentials.FILE_NAME}; run chmod 600 on it")
    source = f"credentials.json, profile {name}"
    if saved.is_renewable:
        return ProfileLogin(context, name), source, saved.account or name
    return keep_secret(context, saved.token), source, saved.account or hash_credential(saved.token)


class ProfileLogin:
    """The access token of a login that can be renewed, as a client asks for it."""

    def __init__(self, context: "Context", profile: str) -> None:
        self._context = context
        self._profile = profile

    def __call__(self) -> str:
        return keep_secret(self._context, ensure_fresh_token(self._context, self._profile))

    def renew(self, rejected: str) -> bool:
        """Return whether there is a new token after the server rejected one; False if it refuses to renew the login,
        so that the error of the request is reported."""
        try:
            return renew(self._context, self._profile, is_needed=lambda held: held.token == rejected).token != rejected
        except Stop as refusal:
            if refusal.exit != ExitCode.CREDENTIAL:
                raise
            return False


def keep_secret(context: "Context", secret: str) -> str:
    """Return ``secret``, which every later message and report redacts."""
    if len(secret) >= _MIN_SECRET_CHARS:
        context.secrets.add(secret)
    return secret


def _run_once(call: Callable[[], str]) -> Callable[[], str]:
    """Return a function that returns the result of ``call``, which it calls once even if several threads need it."""
    lock, results = threading.Lock(), list[str]()

    def read() -> str:
        with lock:
            if not results:
                results.append(call())
            return results[0]

    return read


def _run_token_command(context: "Context", command: str) -> str:
    import shlex

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
        hint = _FIRST_SERVER_HINT if connection.url.origin == "built-in" else _LOGIN_HINT
        raise Stop(ExitCode.CREDENTIAL, f"no credential for {connection.origin}: {connection.source}", hint=hint)
    return build_client(context, str(connection.url.value), connection.token)


_LOGIN_HINT = "Set DOCSHARE_TOKEN, or run: docshare auth login"
# Without a profile or an address, this is probably a new installation: there is no server to log in to.
_FIRST_SERVER_HINT = (
    "Start a server on this machine with docshare serve, or use another one: "
    "docshare auth login --url URL, or DOCSHARE_URL and DOCSHARE_TOKEN"
)
