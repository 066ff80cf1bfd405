"""Renew an OAuth credential before it expires, in one process at a time."""

from typing import TYPE_CHECKING

from docshare.cli.framework.clients import make_anonymous_client
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local import credentials
from docshare.cli.local.credentials import Credential
from docshare.client.errors import Refused
from docshare.client.login.credentials import renew_credential

if TYPE_CHECKING:
    from collections.abc import Callable

    from docshare.cli.framework.context import Context
    from docshare.client.oauth import IssuedTokens


def ensure_fresh_token(context: "Context", profile: str) -> str:
    """Return the access token of ``profile``, renewed if it is about to expire. Raise Stop (4) if that is refused."""
    held = credentials.load(context.config_dir, profile)
    if held is not None and not held.is_due(context.now()):
        return held.token
    return renew(context, profile, is_needed=lambda saved: saved.is_due(context.now())).token


def renew(
    context: "Context", profile: str, *, is_needed: "Callable[[Credential], bool]" = lambda held: True
) -> Credential:
    """Renew and save the credential of ``profile`` if ``is_needed`` for the one that is saved now, and return it.

    Raise Stop (4) if there is nothing to renew or the server refuses; the file then keeps the old credential.
    """
    with credentials.translate_errors():
        renewed = renew_credential(
            context.config_dir,
            profile,
            lambda held: _exchange(context, profile, held),
            is_needed=is_needed,
            now=context.now,
        )
    if renewed is None:
        raise Stop(ExitCode.CREDENTIAL, f"profile {profile} has no renewable credential", hint=_LOGIN_HINT)
    return renewed


def _exchange(context: "Context", profile: str, held: Credential) -> "IssuedTokens":
    with make_anonymous_client(context, held.origin) as client:
        try:
            return client.oauth.refresh(client.oauth.server(), held.client_id or "", held.refresh or "")
        except Refused as refusal:
            if refusal.status >= 500 or refusal.status == 429:
                raise
            raise Stop(
                ExitCode.CREDENTIAL,
                f"the login of profile {profile} has expired: {refusal.detail}",
                hint=_LOGIN_HINT,
            ) from refusal


_LOGIN_HINT = "Log in again: docshare auth login"
