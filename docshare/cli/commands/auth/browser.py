"""Log in by a browser, which returns to a port of this machine."""

import secrets
from typing import TYPE_CHECKING

from docshare.cli.commands.auth.loopback import ConsentListener
from docshare.cli.commands.browse import may_open
from docshare.cli.framework.connection import keep_secret
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop

if TYPE_CHECKING:
    from docshare.client import Client
    from docshare.client.oauth import AuthorizationServer, IssuedTokens

_LOGIN_MINUTES = 5
_STATE_BYTES = 24
_VERIFIER_BYTES = 48


def log_in_by_browser(
    ctx: Context,
    client: "Client",
    server: "AuthorizationServer",
    client_id: str,
    scopes: str,
    *,
    port: int,
    no_browser: bool,
) -> "IssuedTokens":
    """Open the page where the user allows the login, and return its tokens. ``port``: for the redirect; 0 selects one.

    Raise Stop (4) if access was denied.
    """
    state = secrets.token_urlsafe(_STATE_BYTES)
    verifier = keep_secret(ctx, secrets.token_urlsafe(_VERIFIER_BYTES))
    waiting = ConsentListener(state, port)
    try:
        address = server.consent_address(client_id, waiting.redirect_uri, scopes, state, verifier)
        opened = not no_browser and may_open(ctx, stream_tty=ctx.stderr_tty) and ctx.open_browser(address)
        ctx.err("Allow access in your browser." if opened else "Open this URL in a browser:")
        if not opened:
            ctx.err(address)
            ctx.note(f"waiting {_LOGIN_MINUTES} minutes for the browser to return to {waiting.redirect_uri}")
        if not opened and ctx.may_prompt:
            ctx.err("If the browser is on another machine, paste the URL where it ends here.")
            waiting.read_from_terminal(ctx)
        answer = waiting.wait_for_response(_LOGIN_MINUTES * 60)
    finally:
        waiting.close()
    if server.has_issuer_parameter and answer.get("iss") != server.issuer:
        raise Stop(ExitCode.CREDENTIAL, "the response came from a different server")
    if "code" not in answer:
        reason = answer.get("error_description") or answer["error"]
        denied = answer["error"] == "access_denied"
        raise Stop(ExitCode.CREDENTIAL, f"login failed: {'access was denied' if denied else reason}")
    code = keep_secret(ctx, answer["code"])
    tokens: IssuedTokens = client.oauth.exchange(server, client_id, code, waiting.redirect_uri, verifier)
    return tokens
