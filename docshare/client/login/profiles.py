"""The server and credential that a client uses unless its caller names them: environment, then profile.

The order is that of the command line: argument, ``DOCSHARE_URL`` and ``DOCSHARE_TOKEN``, profile. A saved credential is
bound to the origin it was saved for. ``docshare auth login`` writes the files; here, a login is only renewed.
"""

import os
import time
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from docshare.client.address import parse_origin
from docshare.client.errors import BadAddress, MissingCredential, Refused
from docshare.client.login.local_server import LOCAL_PROFILE, LocalServer, read_local_server
from docshare.directories import resolve_directory
from docshare.private_files import read_file

if TYPE_CHECKING:
    from docshare.client.login.credentials import Credential
    from docshare.client.oauth import IssuedTokens

Token = str | Callable[[], str]
TokenExchange: TypeAlias = "Callable[[Credential], IssuedTokens]"

_COMMAND_TIMEOUT_S = 10
_LOGIN_HINT = "Pass a token, set DOCSHARE_TOKEN, or run: docshare auth login"


@dataclass(frozen=True)
class ServerAccess:
    """The ``url`` of a server and the ``token`` for it; ``local``: where it answers if it runs on this host."""

    url: str
    token: Token
    local: LocalServer | None = None

    def __repr__(self) -> str:
        return f"ServerAccess(url={self.url!r}, token=***)"


def find_connection(
    url: str | None,
    token: Token | None,
    profile: str | None,
    env: Mapping[str, str],
    exchange: TokenExchange,
) -> ServerAccess:
    """Return what the arguments leave open from ``profile``, or from the environment and the default profile.

    A named profile takes precedence over the environment; ``exchange`` renews its login. Raise ``BadAddress``
    if there is no such profile or no URL, and ``MissingCredential`` if there is no credential for the URL.
    """
    folder = resolve_directory("config", env)
    config = _read_toml(os.path.join(folder, "config.toml"))
    name = profile or env.get("DOCSHARE_PROFILE") or config.get("profile")
    values = config.get("profiles", {}).get(name) if isinstance(config.get("profiles"), dict) else None
    if name is not None and not isinstance(values, dict):
        raise BadAddress(f"no profile '{name}'", hint=f"Add it with: docshare profile add {name} --url URL")
    use_env = profile is None
    chosen = url or (env.get("DOCSHARE_URL") if use_env else None) or (values or {}).get("url")
    if not isinstance(chosen, str):
        raise BadAddress("no server given", hint="Pass base_url, set DOCSHARE_URL, or name a profile.")
    given = token or ((env.get("DOCSHARE_TOKEN", "").strip() or None) if use_env else None)
    found = given or _find_saved_token(folder, name, values or {}, parse_origin(chosen), exchange)
    is_of_profile = name == LOCAL_PROFILE and chosen == (values or {}).get("url")
    data_dir = Path(resolve_directory("data", env))
    return ServerAccess(chosen, found, read_local_server(data_dir, chosen, by_public_address=is_of_profile))


def _find_saved_token(
    folder: str, name: str | None, values: Mapping[str, Any], origin: str, exchange: TokenExchange
) -> Token:
    if name is None:
        raise MissingCredential(f"no credential for {origin}", hint=_LOGIN_HINT)
    command = values.get("token_command")
    if isinstance(command, str) and parse_origin(str(values.get("url", ""))) == origin:
        return cache(lambda: _run_token_command(command))  # once: a password manager may prompt each time
    login = SavedLogin(folder, name, origin, exchange)
    login.check()  # a missing or foreign credential is reported when the client is created
    return login


class SavedLogin:
    """The saved token of a profile, read before each request, because another process may renew it meanwhile. A login
    that is about to expire, or that the server rejects, is renewed by ``exchange`` and saved."""

    def __init__(self, folder: str, name: str, origin: str, exchange: TokenExchange) -> None:
        self._folder = Path(folder)
        self._name = name
        self._origin = origin
        self._exchange = exchange

    def __call__(self) -> str:
        held = self.check()
        return self._renew(lambda saved: saved.is_due(_now())).token if held.is_due(_now()) else held.token

    def renew(self, rejected: str) -> bool:
        """Return whether the profile has another token than ``rejected``; renew that one if possible."""
        held = self.check()
        if held.token == rejected and held.is_renewable:
            held = self._renew(lambda saved: saved.token == rejected)
        return held.token != rejected

    def check(self) -> "Credential":
        """Return the saved credential. Raise ``MissingCredential`` if it cannot be used or renewed for the server."""
        from docshare.client.login.credentials import load_credential

        saved = load_credential(self._folder, self._name)
        if saved is None:
            raise MissingCredential(f"profile '{self._name}' has no credential", hint=_LOGIN_HINT)
        if saved.origin != self._origin:
            raise MissingCredential(
                f"the credential of profile '{self._name}' belongs to {saved.origin}, not {self._origin}",
                hint=_LOGIN_HINT,
            )
        if saved.expires_at is not None and saved.expires_at <= _now() and not saved.is_renewable:
            raise MissingCredential(f"the login of profile '{self._name}' has expired", hint=_LOGIN_HINT)
        return saved

    def _renew(self, is_needed: "Callable[[Credential], bool]") -> "Credential":
        from docshare.client.login.credentials import renew_credential

        try:
            renewed = renew_credential(self._folder, self._name, self._exchange, is_needed=is_needed, now=_now)
        except Refused as refusal:
            if refusal.status >= 500 or refusal.status == 429:
                raise
            raise MissingCredential(
                f"the login of profile '{self._name}' has expired: {refusal.detail}", hint=_LOGIN_HINT
            ) from refusal
        return renewed or self.check()


def _now() -> int:
    return int(time.time() * 1000)


def _run_token_command(command: str) -> str:
    import shlex
    import subprocess

    try:
        done = subprocess.run(
            shlex.split(command), stdout=subprocess.PIPE, timeout=_COMMAND_TIMEOUT_S, check=True, text=True
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        why = "it timed out" if isinstance(error, subprocess.TimeoutExpired) else str(error)
        raise MissingCredential(f"token_command failed: {why}", hint=_LOGIN_HINT) from error
    if not done.stdout.strip():
        raise MissingCredential("token_command printed nothing", hint=_LOGIN_HINT)
    return done.stdout.strip()


def _read_toml(path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(read_file(path).decode("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise BadAddress(f"cannot read {path}: {error}", hint="Correct the file by hand.") from error
