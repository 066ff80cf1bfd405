"""Verify tokens of the design tool, which identify a user and a design."""

import re
from dataclasses import dataclass

from docshare.contract.limits import MINUTE, SECOND
from docshare.contract.problems import Problem
from docshare.server.outbound.jwts import KeysUnreachable, TrustedIssuer, UntrustedToken
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller, digest, invalid_credential, make_design_caller

_BEARER = re.compile(r"bearer +([\w-]+\.[\w-]+\.[\w-]*)", re.IGNORECASE | re.ASCII)
_USER_CLAIMS = ("sub", "userId")
_DESIGN_CLAIMS = ("designId",)
_MAX_ID_CHARS = 255
_RETRY_HEADERS = {"Retry-After": str(MINUTE // SECOND)}  # after which fetching the keys is retried


@dataclass(frozen=True)
class UserDesign:
    """A design, and the design-tool user who publishes it."""

    user: str
    design: str


def authenticate_user(rt: Runtime, authorization: str | None) -> Caller:
    """Return the design-tool user of an ``Authorization`` header value.

    Raises ``unauthorized``; ``unavailable`` if the lane is disabled or the keys cannot be fetched.
    """
    if not authorization:
        raise Problem("unauthorized", "This route requires the user token of the design tool.")
    match = _BEARER.fullmatch(authorization.strip(" \t"))
    if match is None:
        # A value that cannot be a token is rejected even while the lane is disabled.
        raise invalid_credential("This route requires the user token of the design tool as its bearer credential.")
    return make_design_caller(_verify_claim(rt, match[1], _user_issuer(rt), _USER_CLAIMS), digest(match[1]))


def verify_design(rt: Runtime, token: str) -> str:
    """Return the design of ``token``. Raises what ``authenticate_user`` raises."""
    return _verify_claim(rt, token, _design_issuer(rt), _DESIGN_CLAIMS)


def find_proven_design(rt: Runtime, user_token: str, design_token: str) -> UserDesign | None:
    """Return the design and the user of both tokens, or None unless both are valid.

    If the tokens cannot be verified now, the result is None too: the import then creates a file without a design.
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
    """Return the design of ``token``, or None for an invalid token, which is ignored. Only the status rejects one.

    Raises ``unavailable`` if the keys cannot be fetched: the token may be valid, and a second link for one design would
    be worse than a second try.
    """
    try:
        return verify_design(rt, token) if token else None
    except Problem as problem:
        if problem.code == "unauthorized":
            return None
        raise


def _verify_claim(rt: Runtime, token: str, authority: TrustedIssuer, names: tuple[str, ...]) -> str:
    """Return the id in the first claim of ``names`` that ``token`` has. Raises ``unauthorized``, ``unavailable``."""
    try:
        claims = rt.jwts.verify(token, authority)
    except UntrustedToken as error:
        raise invalid_credential("The token of the design tool is not valid, or it has expired.") from error
    except KeysUnreachable as error:
        raise Problem(
            "unavailable", "The server cannot fetch the keys of the design tool now.", headers=_RETRY_HEADERS
        ) from error
    found = next((claims[name] for name in names if name in claims), None)
    if not isinstance(found, str) or not 0 < len(found) <= _MAX_ID_CHARS:
        raise invalid_credential(f"The token of the design tool does not name a {names[-1]}.")
    return found


def _user_issuer(rt: Runtime) -> TrustedIssuer:
    config = rt.config
    url, issuer, audience = config.design_user_jwks_url, config.design_user_issuer, config.design_user_audience
    if url is None or issuer is None or audience is None:
        raise Problem(
            "unavailable",
            "A design tool is not configured on this server.",
            hint="Its operator sets DOCSHARE_DESIGN_USER_JWKS_URL, _ISSUER, and _AUDIENCE.",
        )
    return TrustedIssuer(url, issuer, audience)


def _design_issuer(rt: Runtime) -> TrustedIssuer:
    """Return the issuer of design tokens; options that are not set default to those of user tokens."""
    config, user = rt.config, _user_issuer(rt)
    return TrustedIssuer(
        config.design_token_jwks_url or user.jwks_url,
        config.design_token_issuer or user.issuer,
        config.design_token_audience or user.audience,
    )
