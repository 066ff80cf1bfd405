"""Tokens of the design tool: who publishes, and which design."""

import re
from typing import NamedTuple

from docshare.contract.limits import MINUTE, SECOND
from docshare.contract.problems import Problem
from docshare.server.outbound.jwts import KeysUnreachable, TrustedIssuer, UntrustedToken
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller, digest, invalid_credential, make_design_caller

_BEARER = re.compile(r"bearer +([\w-]+\.[\w-]+\.[\w-]*)", re.IGNORECASE | re.ASCII)
_USER_CLAIMS = ("sub", "userId")
_DESIGN_CLAIMS = ("designId",)
_MAX_ID_CHARS = 255
_RETRY_HEADERS = {"Retry-After": str(MINUTE // SECOND)}  # keys that could not be had are asked for again so late


class UserDesign(NamedTuple):
    """A design, and the user of the design tool who publishes it."""

    user: str
    design: str


def authenticate_user(rt: Runtime, authorization: str | None) -> Caller:
    """The user of the design tool behind an ``Authorization`` header value.

    Raises ``unauthorized``; ``unavailable`` where the lane is off, or keys cannot be fetched.
    """
    if not authorization:
        raise Problem("unauthorized", "This route needs the user token of the design tool.")
    match = _BEARER.fullmatch(authorization.strip(" \t"))
    if match is None:
        # Whether the lane is on or off: what can be no such token is none.
        raise invalid_credential("This route takes the user token of the design tool as its bearer credential.")
    return make_design_caller(_verify_claim(rt, match[1], _user_issuer(rt), _USER_CLAIMS), digest(match[1]))


def verify_design(rt: Runtime, token: str) -> str:
    """The design that ``token`` is of. Raises as ``caller``."""
    return _verify_claim(rt, token, _design_issuer(rt), _DESIGN_CLAIMS)


def find_proven_design(rt: Runtime, user_token: str, design_token: str) -> UserDesign | None:
    """What both tokens say together, None unless both are good.

    Also where nothing can be said of them now: the import is a plain create.
    """
    if not user_token or not design_token:
        return None
    try:
        return UserDesign(
            _verify_claim(rt, user_token, _user_issuer(rt), _USER_CLAIMS), verify_design(rt, design_token)
        )
    except Problem:
        return None


def find_design(rt: Runtime, token: str) -> str | None:
    """The design that ``token`` is of; None for one that is not good, which then counts for nothing.

    Only the status is said to check it hard. Raises ``unavailable``: keys that cannot be fetched now say
    nothing against it, and a second link of one design is worse than a second try.
    """
    try:
        return verify_design(rt, token) if token else None
    except Problem as problem:
        if problem.code == "unauthorized":
            return None
        raise


def _verify_claim(rt: Runtime, token: str, authority: TrustedIssuer, names: tuple[str, ...]) -> str:
    """The id in the first claim of ``names`` that ``token`` has. Raises ``unauthorized``, ``unavailable``."""
    try:
        claims = rt.jwts.claims(token, authority)
    except UntrustedToken as error:
        raise invalid_credential("The token of the design tool is not valid, or it has expired.") from error
    except KeysUnreachable as error:
        raise Problem(
            "unavailable", "The keys of the design tool cannot be fetched now.", headers=_RETRY_HEADERS
        ) from error
    found = next((claims[name] for name in names if name in claims), None)
    if not isinstance(found, str) or not 0 < len(found) <= _MAX_ID_CHARS:
        raise invalid_credential(f"The token of the design tool names no {names[-1]}.")
    return found


def _user_issuer(rt: Runtime) -> TrustedIssuer:
    config = rt.config
    url, issuer, audience = config.design_user_jwks_url, config.design_user_issuer, config.design_user_audience
    if url is None or issuer is None or audience is None:
        raise Problem(
            "unavailable",
            "This server does not know the design tool.",
            hint="Its operator sets DOCSHARE_DESIGN_USER_JWKS_URL, _ISSUER and _AUDIENCE.",
        )
    return TrustedIssuer(url, issuer, audience)


def _design_issuer(rt: Runtime) -> TrustedIssuer:
    """As the user's, in all that is not said otherwise."""
    config, user = rt.config, _user_issuer(rt)
    return TrustedIssuer(
        config.design_token_jwks_url or user.jwks_url,
        config.design_token_issuer or user.issuer,
        config.design_token_audience or user.audience,
    )
