"""Log in by a code that a person enters on another device (RFC 8628)."""

from typing import TYPE_CHECKING

from docshare.cli.commands.qr import render_code
from docshare.cli.framework.connection import keep_secret
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.client.errors import ConnectionLost, NotConnected, Refused, TimedOut, UnknownOutcome

if TYPE_CHECKING:
    from docshare.client import Client
    from docshare.client.oauth import AuthorizationServer, DeviceLogin, IssuedTokens

_SLOW_DOWN_SECONDS = 5  # RFC 8628, 3.5
_MAX_INTERVAL = 60
_AGAIN = "Log in again: docshare auth login --device"


def log_in_by_device(
    ctx: Context, client: "Client", server: "AuthorizationServer", client_id: str, scopes: str
) -> "IssuedTokens":
    """Print a code, and wait until somebody allows the login on another device; return its tokens.

    Raise Stop (2) if the server does not support it, Stop (4) if access was denied, Stop (124) if the code expired.
    """
    if server.device is None:
        hint = "Use --no-browser, or an API key with --with-token."
        raise Stop(ExitCode.USAGE, f"{client.origin} does not support --device", hint=hint)
    login = client.oauth.begin_device_login(server, client_id, scopes)
    keep_secret(ctx, login.device_code)
    _print_code(ctx, login)
    interval, deadline = max(1, login.interval), ctx.monotonic() + login.expires_in
    while ctx.monotonic() + interval < deadline:
        ctx.sleep(interval)
        try:
            return client.oauth.poll_device_login(server, client_id, login.device_code)
        except Refused as refusal:
            error = refusal.extra.get("error")
            if error == "slow_down":
                interval += _SLOW_DOWN_SECONDS
            elif error == "access_denied":
                raise Stop(ExitCode.CREDENTIAL, "login failed: access was denied", hint=_AGAIN) from None
            elif error == "expired_token":
                break
            elif error != "authorization_pending" and refusal.status < 500:
                raise
        except (NotConnected, ConnectionLost, TimedOut, UnknownOutcome) as error:
            interval = min(2 * interval, _MAX_INTERVAL)
            ctx.trace(f"polling again in {interval} s: {error}")
    raise Stop(ExitCode.DEADLINE, "login failed: the code expired", hint=_AGAIN)


def _print_code(ctx: Context, login: "DeviceLogin") -> None:
    minutes = max(1, login.expires_in // 60)
    ctx.err(f"Open {login.page} on any device and enter the code {login.user_code} within {minutes} min.")
    if not ctx.stderr_tty or not ctx.err_screen.unicode:
        return
    lines = render_code(login.page_with_code)
    if len(lines[0]) <= ctx.err_screen.width:
        for line in lines:
            ctx.err(line)
