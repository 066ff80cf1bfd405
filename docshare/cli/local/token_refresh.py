"""Renew an OAuth credential before it expires, in one process at a time."""

from typing import TYPE_CHECKING

from docshare.cli.framework.clients import make_anonymous_client
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local import credentials
from docshare.cli.local.credentials import Credential
from docshare.client.errors import Refused

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.client.oauth import IssuedTokens

RENEWAL_MARGIN_MS = 60_000  # time for a request to arrive before the token expires, despite clock skew
_LOCK = ".renewing"


def ensure_fresh_token(context: "Context", profile: str) -> str:
    """Return the access token of ``profile``, renewed if it is about to expire. Raise Stop (4) if that is refused."""
    held = credentials.load(context.config_dir, profile)
    if held is not None and not is_due(held, context.now()):
        return held.token
    return renew(context, profile, only_if_due=True).token


def renew(context: "Context", profile: str, *, only_if_due: bool = False) -> Credential:
    """Renew and save the credential of ``profile``.

    Raise Stop (4) if there is nothing to renew or the server refuses; the file then keeps the old credential.
    """
    from docshare.cli.local.storage import hold_lock

    with hold_lock(context.config_dir / _LOCK):
        # Read again: another process may have renewed it meanwhile, and a refresh token works only once.
        held = credentials.load(context.config_dir, profile)
        if held is None or held.refresh is None or held.client_id is None:
            raise Stop(ExitCode.CREDENTIAL, f"profile {profile} has no renewable credential", hint=_LOGIN_HINT)
        if only_if_due and not is_due(held, context.now()):
            return held
        with make_anonymous_client(context, held.origin) as client:
            try:
                tokens = client.oauth.refresh(client.oauth.server(), held.client_id, held.refresh)
            except Refused as refusal:
                if refusal.status >= 500 or refusal.status == 429:
                    raise
                raise Stop(
                    ExitCode.CREDENTIAL,
                    f"the login of profile {profile} has expired: {refusal.detail}",
                    hint=_LOGIN_HINT,
                ) from refusal
        renewed = build_credential(held.origin, held.client_id, tokens, context.now())._replace(account=held.account)
        credentials.save(context.config_dir, profile, renewed)
        return renewed


def build_credential(origin: str, client_id: str, tokens: "IssuedTokens", now: int) -> Credential:
    """Return the credential to save for ``tokens`` issued at ``now`` (ms)."""
    ends = now + tokens.expires_in * 1000
    return Credential(origin, tokens.access, tokens.refresh, ends, client_id, tokens.scopes)


def is_due(held: Credential, now: int) -> bool:
    """Return whether a credential must be renewed before use; ``now`` in milliseconds since 1970."""
    return held.expires_at is not None and now >= held.expires_at - RENEWAL_MARGIN_MS


_LOGIN_HINT = "Log in again: docshare auth login"
