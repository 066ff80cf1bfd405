"""The server and credential that a client uses unless its caller names them: environment, then profile.

The order is that of the command line: argument, ``DOCSHARE_URL`` and ``DOCSHARE_TOKEN``, profile. A saved credential is
bound to the origin it was saved for. This module only reads; ``docshare auth login`` writes the files.
"""

import json
import os
import time
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from docshare.client.address import parse_origin
from docshare.client.errors import BadAddress, MissingCredential
from docshare.directories import resolve_directory

Token = str | Callable[[], str]

_COMMAND_TIMEOUT_S = 10
_LOGIN_HINT = "Pass a token, set DOCSHARE_TOKEN, or run: docshare auth login"


class ServerAccess(NamedTuple):
    """The ``url`` of a server and the ``token`` for it."""

    url: str
    token: Token

    def __repr__(self) -> str:
        return f"ServerAccess(url={self.url!r}, token=***)"


def find_connection(url: str | None, token: Token | None, profile: str | None, env: Mapping[str, str]) -> ServerAccess:
    """Return what the arguments leave open from ``profile``, or from the environment and the default profile.

    A named profile takes precedence over the environment. Raise ``BadAddress`` if there is no such profile or no URL,
    and ``MissingCredential`` if there is no credential for the URL.
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
    return ServerAccess(chosen, given or _find_saved_token(folder, name, values or {}, parse_origin(chosen)))


def _find_saved_token(folder: str, name: str | None, values: Mapping[str, Any], origin: str) -> Token:
    if name is None:
        raise MissingCredential(f"no credential for {origin}", hint=_LOGIN_HINT)
    command = values.get("token_command")
    if isinstance(command, str) and parse_origin(str(values.get("url", ""))) == origin:
        return cache(lambda: _run_token_command(command))  # once: a password manager may prompt each time
    read = _SavedCredential(folder, name, origin)
    read()  # a missing or foreign credential is reported when the client is created
    return read


class _SavedCredential:
    """The saved token of a profile, read before each request, because the command line may renew it meanwhile."""

    def __init__(self, folder: str, name: str, origin: str) -> None:
        self._path = os.path.join(folder, "credentials.json")
        self._name = name
        self._origin = origin

    def __call__(self) -> str:
        saved = self._read()
        if not isinstance(saved.get("token"), str):
            raise MissingCredential(f"profile '{self._name}' has no credential", hint=_LOGIN_HINT)
        if saved.get("origin") != self._origin:
            raise MissingCredential(
                f"the credential of profile '{self._name}' belongs to {saved.get('origin')}, not {self._origin}",
                hint=_LOGIN_HINT,
            )
        ends = saved.get("expires_at")
        if isinstance(ends, int) and ends <= time.time() * 1000:
            raise MissingCredential(
                f"the login of profile '{self._name}' has expired",
                hint="Any docshare command renews it. A program that runs unattended needs an API key.",
            )
        return str(saved["token"])

    def _read(self) -> Mapping[str, Any]:
        try:
            with open(self._path, encoding="utf-8") as file:
                saved = json.load(file)["profiles"][self._name]
        except FileNotFoundError:
            return {}
        except KeyError:
            return {}
        except (OSError, ValueError, TypeError) as error:
            raise MissingCredential(f"cannot read {self._path}: {error}", hint="Delete it and log in again.") from error
        return saved if isinstance(saved, dict) else {}


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
        with open(path, "rb") as file:
            return tomllib.load(file)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise BadAddress(f"cannot read {path}: {error}", hint="Correct the file by hand.") from error
