"""Renewing a credential that was granted by OAuth before it ends, by one process at a time."""

from typing import TYPE_CHECKING

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local import credentials
from docshare.cli.local.credentials import Credential

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.client.oauth import Tokens

RENEWAL_MARGIN_MS = 60_000  # a request must arrive before the token ends, whatever the clocks say
_LOCK = ".renewing"


def ensure_fresh_token(context: "Context", profile: str) -> str:
    """The access token of ``profile``, renewed if its time is nearly over. Stop (4) if that is refused."""
    held = credentials.load(context.config_dir, profile)
    if held is not None and not is_due(held, context.now()):
        return held.token
    return renew(context, profile, only_if_due=True).token


def renew(context: "Context", profile: str, *, only_if_due: bool = False) -> Credential:
    """Renew the credential of ``profile``; the file keeps the old one if that is refused. Stop (4) where it is, or
    where there is nothing to renew."""
    from docshare.cli.framework.connection import make_anonymous_client
    from docshare.cli.local.storage import hold_lock
    from docshare.client.errors import Refused

    with hold_lock(context.config_dir / _LOCK):
        # Read again: another process may have renewed it while this one waited, and a token is good for one renewal.
        held = credentials.load(context.config_dir, profile)
        if held is None or held.refresh is None or held.client_id is None:
            raise Stop(ExitCode.CREDENTIAL, f"profile {profile} has nothing to renew", hint=_LOGIN_HINT)
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
                    f"the sign-in of profile {profile} has ended: {refusal.detail}",
                    hint=_LOGIN_HINT,
                ) from refusal
        renewed = build_credential(held.origin, held.client_id, tokens, context.now())._replace(account=held.account)
        credentials.save(context.config_dir, profile, renewed)
        return renewed


def build_credential(origin: str, client_id: str, tokens: "Tokens", now: int) -> Credential:
    """What is kept of ``tokens`` that were given at ``now`` (ms)."""
    ends = now + tokens.expires_in * 1000
    return Credential(origin, tokens.access, tokens.refresh, ends, client_id, tokens.scopes)


def is_due(held: Credential, now: int) -> bool:
    """Whether a credential ends so soon that it is renewed before it is used; ``now`` in milliseconds since 1970."""
    return held.expires_at is not None and now >= held.expires_at - RENEWAL_MARGIN_MS


_LOGIN_HINT = "Sign in again: docshare auth login"
