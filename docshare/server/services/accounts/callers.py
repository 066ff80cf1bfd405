"""Authenticate a request: from its Authorization header to an account and the scopes that it may use."""

import hashlib
import re
from dataclasses import dataclass, replace

from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.contract.scopes import CHALLENGE, Lane, held_scopes, scope_problem
from docshare.server.runtime import Runtime
from docshare.server.store.tables import accounts, oauth, sharing, sign_in
from docshare.server.store.tables.accounts import AccountRow, KeyRow

# The b64token of RFC 6750. It contains no comma, so two headers that a proxy or the listener joined are rejected.
_BEARER = re.compile(r"bearer +([A-Za-z0-9._~+/-]{1,4096}=*)", re.IGNORECASE | re.ASCII)

_NO_ACCOUNT_ID = 0  # account ids begin at 1


@dataclass(frozen=True)
class Caller:
    """An authenticated account, or a caller without an account: the holder of a manage token, who may manage one
    file, or a user of the design tool, who may publish designs.

    ``lane``: the kind of credential; ``scopes`` that it grants; ``credential``: the SHA-256 of the token, which
    distinguishes two credentials of one account; ``file_id`` of a manage token, None once the file is deleted;
    ``is_expired``: whether a manage token has expired, since some routes reject those with a separate error;
    ``design_user``: the user id at the design tool; ``is_restricted``: whether it is a restricted API key;
    ``only_file_id``: the only file that such a key can reach, None if it can reach all files of the account.
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
    is_expired: bool = False
    design_user: str = ""
    is_restricted: bool = False
    only_file_id: int | None = None

    def require_scope(self, scope: str) -> None:
        """Raise ``insufficient_scope`` unless the credential holds ``scope``."""
        if scope not in self.scopes:
            raise scope_problem(scope)


def digest(token: str) -> str:
    """Return the SHA-256 of a credential in hex, as it is stored. Credentials are long and random, so a fast hash is
    enough."""
    return hashlib.sha256(token.encode()).hexdigest()


def authenticate(rt: Runtime, authorization: str | None) -> Caller:
    """Return the caller of an ``Authorization`` header value. Raises ``unauthorized``.

    The token is looked up as an API key, an access token and a manage token, whatever its prefix.
    """
    if not authorization:
        raise Problem("unauthorized", "This route requires a credential.")
    match = _BEARER.fullmatch(authorization.strip(" \t"))
    if match is None:
        raise invalid_credential("The Authorization header must be 'Bearer' followed by one token.")
    credential = digest(match[1])
    key = accounts.recall_by_key(rt.db, credential)
    if key is None:
        return _find_app_caller(rt, credential) or _get_manage_caller(rt, credential)
    return _make_key_caller(rt, key, credential)


def _make_key_caller(rt: Runtime, key: KeyRow, credential: str) -> Caller:
    """Return the caller of an API key and remember when it was used. Raises ``unauthorized`` for an expired key."""
    now, scopes = rt.clock(), held_scopes(Lane.API_KEY)
    if key.expires_at is not None and key.expires_at <= now:
        raise invalid_credential("The API key has expired.")
    rt.key_uses[credential] = now
    if key.scopes is None:
        return make_account_caller(key.account, scopes, Lane.API_KEY, credential)
    caller = make_account_caller(key.account, scopes & frozenset(key.scopes.split()), Lane.API_KEY, credential)
    return replace(caller, is_restricted=True, only_file_id=key.file_id)


def make_account_caller(account: AccountRow, scopes: frozenset[str], lane: Lane, credential: str) -> Caller:
    """Return the caller ``account``, authenticated by a credential with the SHA-256 ``credential``."""
    account_id, uuid, email, name, plan, created_at = account
    return Caller(account_id, uuid, email, name, Plan(plan), created_at, scopes, lane, credential)


def _find_app_caller(rt: Runtime, credential: str) -> Caller | None:
    """Return the account of an OAuth access token with its granted scopes; None for another kind of token. Raises
    ``unauthorized`` for an expired one."""
    found = oauth.recall_account(rt.db, credential)
    if found is None:
        return None
    account, scopes, expires_at = found
    if expires_at <= rt.clock():
        raise invalid_credential("The access token has expired.")
    return make_account_caller(account, held_scopes(Lane.OAUTH, scopes.split()), Lane.OAUTH, credential)


def recheck_caller(rt: Runtime, caller: Caller) -> Caller:
    """Return ``caller`` with the current plan, name, and email. Raises ``unauthorized`` if the credential was revoked
    meanwhile, the browser signed out, or the account disabled or deleted.

    Call this in the transaction that stores a body: it may have taken minutes to arrive or to convert. Call it also in
    one that gives lasting access to the account, because it may have waited for its lock: a credential must not create
    another one after it was revoked. An access token or a session that expired meanwhile stays valid for the request.
    """
    if caller.lane is Lane.API_KEY:
        key = accounts.find_by_key(rt.db, caller.credential)
        account = key.account if key else None
    elif caller.lane is Lane.OAUTH:
        found = oauth.find_account(rt.db, caller.credential)
        account = found[0] if found else None
    elif caller.lane is Lane.SESSION:
        account = _find_session_account(rt, caller)
    else:
        return caller
    if account is None:
        ended = "You were signed out" if caller.lane is Lane.SESSION else "The credential was revoked"
        raise invalid_credential(f"{ended} in the meantime.")
    return replace(caller, plan=Plan(account.plan), name=account.name, email=account.email)


def _find_session_account(rt: Runtime, caller: Caller) -> AccountRow | None:
    """Return the account of ``caller``, or None if the browser is no longer signed in. A caller without a
    credential is the operator."""
    if caller.credential and sign_in.find_session(rt.db, caller.credential, now=0) is None:
        return None
    return accounts.find_by_id(rt.db, caller.account_id)


def _get_manage_caller(rt: Runtime, credential: str) -> Caller:
    found = sharing.recall_manage_token(rt.db, credential)
    if found is None:
        raise invalid_credential("The credential is not valid, or it was revoked.")
    file_id, expires_at = found
    return replace(
        _make_anonymous_caller(Lane.MANAGE, credential), file_id=file_id, is_expired=expires_at <= rt.clock()
    )


def make_design_caller(user: str, credential: str) -> Caller:
    """Return the caller for a ``user`` of the design tool whose token, with the SHA-256 ``credential``, is valid."""
    return replace(_make_anonymous_caller(Lane.DESIGN, credential), design_user=user)


def _make_anonymous_caller(lane: Lane, credential: str) -> Caller:
    """Return a caller without an account, on the Free plan."""
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
    """Return the problem for a credential that is not accepted, with its challenge."""
    return Problem("unauthorized", detail, headers={"WWW-Authenticate": f'{CHALLENGE} error="invalid_token"'})
