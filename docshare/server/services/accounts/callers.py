"""Who is calling: from an Authorization header to an account and the scopes it may use."""

import hashlib
import re
from dataclasses import dataclass, replace

from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.contract.scopes import CHALLENGE, Lane, held_scopes, scope_problem
from docshare.server.runtime import Runtime

# RFC 6750 b64token. A comma (two headers joined by a proxy or the listener) or any other byte is no credential.
_BEARER = re.compile(r"bearer +([A-Za-z0-9._~+/-]{1,4096}=*)", re.IGNORECASE | re.ASCII)

_BY_DIGEST = """
SELECT a.id, a.uuid, a.email, a.name, a.plan, a.created_at
FROM api_keys k JOIN accounts a ON a.id = k.account_id WHERE k.digest = ? AND k.revoked_at IS NULL
"""
_OAUTH_BY_DIGEST = """
SELECT a.id, a.uuid, a.email, a.name, a.plan, a.created_at, t.scopes, t.expires_at
FROM oauth_tokens t JOIN oauth_grants g ON g.id = t.grant_id JOIN accounts a ON a.id = g.account_id
WHERE t.digest = ? AND t.kind = 'access' AND g.revoked_at IS NULL
"""
_MANAGE_BY_DIGEST = "SELECT file_id, expires_at FROM file_tokens WHERE digest = ? AND kind = 'manage'"
_RECHECK_BY_LANE = {Lane.API_KEY: _BY_DIGEST, Lane.OAUTH: _OAUTH_BY_DIGEST}
_NO_ACCOUNT_ID = 0  # as an account id: ids begin at 1


@dataclass(frozen=True)
class Caller:
    """An account that proved itself, or the holder of a manage token, who is nobody but may manage one file, or a user
    of the design tool, who is nobody but may publish designs.

    ``lane``: the kind of credential; ``scopes`` what it may do; ``credential``: the SHA-256 of the token, which tells
    two credentials of one account apart; ``file_id`` of a manage token's file, None once that is gone; ``expired``: a
    manage token past its end, which is known all the same, because some routes refuse those in a way of their own;
    ``design_user``: who it is at the design tool.
    """

    account_id: int
    uuid: str
    email: str
    name: str
    plan: Plan
    created_at: int
    scopes: frozenset[str]
    lane: Lane
    credential: str
    file_id: int | None = None
    expired: bool = False
    design_user: str = ""

    def require(self, scope: str) -> None:
        """Raise ``insufficient_scope`` unless the credential holds ``scope``."""
        if scope not in self.scopes:
            raise scope_problem(scope)


def digest(token: str) -> str:
    """What is stored of a credential: its SHA-256 in hex. They are long and random, so no slow hash is needed."""
    return hashlib.sha256(token.encode()).hexdigest()


def authenticate(rt: Runtime, authorization: str | None) -> Caller:
    """The caller of an ``Authorization`` header value. Raises ``unauthorized``.

    A token is looked for in three tables, whether it exists or not; none must have our prefix.
    """
    if not authorization:
        raise Problem("unauthorized", "This route needs a credential.")
    match = _BEARER.fullmatch(authorization.strip(" \t"))
    if match is None:
        raise invalid_credential("The Authorization header is not 'Bearer' and one token.")
    credential = digest(match[1])
    found = rt.db.recall(_BY_DIGEST, (credential,))
    if found is None:
        return _find_app_caller(rt, credential) or _get_manage_caller(rt, credential)
    account_id, uuid, email, name, plan, created_at = found
    scopes = held_scopes(Lane.API_KEY)
    return Caller(account_id, uuid, email, name, Plan(plan), created_at, scopes, Lane.API_KEY, credential)


def _find_app_caller(rt: Runtime, credential: str) -> Caller | None:
    """The account behind an OAuth access token, with what was granted to it; None for another kind of token. Raises
    ``unauthorized`` for one whose time is over."""
    found = rt.db.recall(_OAUTH_BY_DIGEST, (credential,))
    if found is None:
        return None
    account_id, uuid, email, name, plan, created_at, scopes, expires_at = found
    if expires_at <= rt.clock():
        raise invalid_credential("The access token has expired.")
    held = held_scopes(Lane.OAUTH, scopes.split())
    return Caller(account_id, uuid, email, name, Plan(plan), created_at, held, Lane.OAUTH, credential)


def recheck_caller(rt: Runtime, caller: Caller) -> Caller:
    """``caller`` as it stands now, inside the transaction of what it asked for: a body that took minutes to arrive or
    to convert must not be stored for a key that was revoked meanwhile, or on a plan that ended.

    An access token that only ran out meanwhile still does what it was good for when it was sent. Raises
    ``unauthorized``.
    """
    statement = _RECHECK_BY_LANE.get(caller.lane)
    if statement is None:
        return caller
    found = rt.db.row(statement, (caller.credential,))
    if found is None:
        raise invalid_credential("The credential was revoked meanwhile.")
    return replace(caller, plan=Plan(found[4]))


def _get_manage_caller(rt: Runtime, credential: str) -> Caller:
    found = rt.db.recall(_MANAGE_BY_DIGEST, (credential,))
    if found is None:
        raise invalid_credential("The credential is not valid, or it was revoked.")
    file_id, expires_at = found
    return replace(_make_anonymous_caller(Lane.MANAGE, credential), file_id=file_id, expired=expires_at <= rt.clock())


def make_design_caller(user: str, credential: str) -> Caller:
    """The ``user`` of the design tool whose token, with the SHA-256 ``credential``, was found good."""
    return replace(_make_anonymous_caller(Lane.DESIGN, credential), design_user=user)


def _make_anonymous_caller(lane: Lane, credential: str) -> Caller:
    """A caller without an account. It acts at Free tier."""
    return Caller(
        account_id=_NO_ACCOUNT_ID,
        uuid="",
        email="",
        name="",
        plan=Plan.FREE,
        created_at=0,
        scopes=held_scopes(lane),
        lane=lane,
        credential=credential,
    )


def invalid_credential(detail: str) -> Problem:
    """The refusal of a credential that was sent but does not count here, with its challenge."""
    return Problem("unauthorized", detail, headers={"WWW-Authenticate": f'{CHALLENGE} error="invalid_token"'})
