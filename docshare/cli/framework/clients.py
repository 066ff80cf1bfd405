"""Make clients of the API that report waits and exchanges as the options ask."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from docshare import __version__
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local.accounts import remember_account
from docshare.cli.local.settings import resolve_duration, resolve_setting

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.client import Client
    from docshare.client.login.local_server import LocalServer
    from docshare.client.options import Exchange

_MAX_TIMEOUT_S = 366 * 86_400.0  # sockets reject much longer ones
_SECRET_NAMES = ("authorization", "cookie", "token", "secret", "password", "code")


def make_anonymous_client(context: "Context", base: str | None = None) -> "Client":
    """Return a client without a credential for the server at ``base`` (None: the one in effect)."""
    return build_client(context, base or str(resolve_setting(context, "url").value), None)


def build_client(context: "Context", base: str, token: str | Callable[[], str] | None) -> "Client":
    """Return a client of the server at ``base`` that uses ``token``, whatever is in effect. Raises ``BadAddress``."""
    from docshare.cli.framework.http_library import CommandClient
    from docshare.client.http.clock import Clock

    local_server = _find_local_server(context, base)
    client = CommandClient(
        base,
        token,
        user_agent=f"docshare/{__version__} (python {sys.version.split()[0]}; {sys.platform})",
        timeout=_find_timeout(context),
        retries=int(resolve_setting(context, "retries").value),
        max_wait=resolve_duration(context, "max_wait"),
        on_wait=lambda reason, seconds: _report_wait(context, reason, seconds),
        on_exchange=_ExchangeLog(context).log_exchange,
        verify=resolve_setting(context, "ca_bundle").value or True,
        allow_http=local_server is not None or bool(resolve_setting(context, "allow_http").value),
        clock=Clock(wall=lambda: context.now() / 1000, monotonic=context.monotonic, sleep=context.sleep),
    )
    if token is not None:
        client.report_account_to(lambda account: remember_account(context, client.origin, token, account))
    if local_server is not None:
        client.connect_through(local_server)
    return client


def _find_local_server(context: "Context", base: str) -> "LocalServer | None":
    """Return access to the server on this host's data directory, if it is the one at ``base``."""
    if not (context.data_dir / "server.json").is_file():
        return None
    from docshare.client.login.local_server import LOCAL_PROFILE, read_local_server

    by_profile = resolve_setting(context, "url").origin == f"profile {LOCAL_PROFILE}"
    return read_local_server(context.data_dir, base, by_public_address=by_profile)


def _find_timeout(context: "Context") -> float:
    """Return the seconds to wait for a response. Raise Stop (2) for 0."""
    found = resolve_duration(context, "timeout")
    if found <= 0:
        raise Stop(ExitCode.USAGE, "--timeout must be greater than 0", hint="Example: --timeout 30s.")
    return min(found, _MAX_TIMEOUT_S)


def _report_wait(context: "Context", reason: str, seconds: float) -> None:
    if seconds >= 1:
        context.note(f"{reason}, waiting {round(seconds)} s")


class _ExchangeLog:
    """Prints each exchange for ``-v`` and ``-vv``, and one warning about a deprecated route."""

    def __init__(self, context: "Context") -> None:
        self._ctx = context
        self._has_warned = False

    def log_exchange(self, exchange: "Exchange") -> None:
        """Print one finished exchange."""
        path = urlsplit(exchange.url).path
        self._ctx.trace(f"{exchange.method} {path} {exchange.status} {exchange.seconds * 1000:.0f} ms")
        for mark, headers in ((">", exchange.request_headers), ("<", exchange.headers)):
            for key, value in headers.items():
                self._ctx.trace(f"  {mark} {key}: {'***' if is_secret_name(key) else value}", level=2)
        self._warn_if_deprecated({key.lower(): value for key, value in exchange.headers.items()}, path)

    def _warn_if_deprecated(self, headers: dict[str, str], path: str) -> None:
        if self._has_warned or not headers.keys() & {"deprecation", "sunset"}:
            return
        self._has_warned = True
        end = f" and will be removed on {headers['sunset']}" if "sunset" in headers else ""
        self._ctx.warn(f"{path} of this server is deprecated{end}; update docshare")


def is_secret_name(name: str) -> bool:
    """Return whether a header or field of this name may hold a secret."""
    return any(word in name.lower() for word in _SECRET_NAMES)
