"""Authenticate and rate-limit a request and check its scope, before anything is looked up.

The listener calls this for uploads before their bodies are read, the application for all other requests.
"""

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum, auto

from docshare.contract.limits import ADDRESS, DESIGN_ADDRESS, DESIGN_USER, REQUESTS, RatePolicy
from docshare.contract.local_proof import HEADER, is_proof
from docshare.contract.problems import Problem
from docshare.contract.scopes import Lane
from docshare.server.api import session_lane
from docshare.server.api.ratelimit import rate_limit_problem
from docshare.server.api.session_lane import HeaderOf
from docshare.server.rate_limits import Allowance, build_uncounted_allowance, network_prefix
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller, authenticate, invalid_credential
from docshare.server.services.designs import tokens
from docshare.server.store.identity import instance_key


@dataclass(frozen=True)
class AccessRule:
    """The requirements of a route.

    ``scope``: None, and ``is_public`` False, for a path without a route; ``policy`` limits a public route by address,
    and any other in addition to the default policy; ``allows_manage_token``: otherwise manage tokens are not a
    credential; ``is_owner_only``: manage tokens are recognized and rejected; ``allows_session``: accepts a browser's
    session, and without ``allows_bearer`` nothing else; ``is_design_lane``: accepts only tokens of the design tool;
    ``is_safe``: the route changes nothing; ``is_for_one_file``: open to a restricted key that is for one file.
    """

    is_public: bool = False
    scope: str | None = None
    policy: RatePolicy = REQUESTS
    allows_manage_token: bool = False
    is_owner_only: bool = False
    allows_session: bool = False
    allows_bearer: bool = True
    is_design_lane: bool = False
    is_safe: bool = False
    is_for_one_file: bool = False


@dataclass(frozen=True)
class Admission:
    """The result of the check.

    ``allowance`` for the headers; ``refusal`` None if the request may proceed; ``caller`` None if no credential is
    required or none is valid; ``key`` under which the policy of the route counted it, None if the route has no policy
    of its own.
    """

    allowance: Allowance
    caller: Caller | None = None
    refusal: Problem | None = None
    key: str | None = None


class CountMode(Enum):
    """When a request is counted: ``NOW``; ``LATER``, by the application, so that this check does not count;
    ``ALREADY_COUNTED``, by the listener."""

    NOW = auto()
    ALREADY_COUNTED = auto()
    LATER = auto()


NO_ROUTE = AccessRule()
_FORWARDING_HEADERS = ("x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "forwarded", "via")


def admit(
    rt: Runtime,
    entrance: AccessRule,
    header: HeaderOf,
    address: Callable[[], str],
    tally: CountMode = CountMode.NOW,
) -> Admission:
    """Authenticate one request, check its scope and count it.

    Parameters: ``header`` returns a request header by name, ``address`` the client's IP address; ``tally`` when the
    request is counted.
    """
    authorization = header("authorization")
    if entrance.is_design_lane:
        return _admit_design_tool(rt, authorization, address())
    # A bearer token takes precedence: it identifies the caller, and browsers never add it by themselves.
    if entrance.allows_session and not authorization and (signed_in := session_lane.find_session_caller(rt, header)):
        return _admit_caller(rt, entrance, signed_in, header, address, tally)
    if entrance.is_public or not authorization:
        # A request without a credential counts in the general window of its address, not as a failure.
        admission = _admit_by_address(rt, entrance, address(), tally)
        missing = entrance.scope is not None and admission.refusal is None
        return Admission(admission.allowance, refusal=_credential_problem()) if missing else admission
    try:
        caller = authenticate(rt, authorization)
    except Problem as problem:
        # Failed credentials are counted by address; otherwise every guess would have a window of its own.
        count = rt.limits.peek if tally is CountMode.LATER else rt.limits.hit
        allowance = count(ADDRESS, network_prefix(address()), rt.config.address_limit)
        return Admission(allowance, refusal=problem if allowance.is_allowed else rate_limit_problem(allowance))
    return _admit_caller(rt, entrance, caller, header, address, tally)


def _admit_caller(
    rt: Runtime, entrance: AccessRule, caller: Caller, header: HeaderOf, address: Callable[[], str], tally: CountMode
) -> Admission:
    """Check a request whose ``caller`` has been authenticated."""
    # A valid key is accepted although its address has exceeded the limit of failures; otherwise a stranger behind
    # the same address could lock its owner out. Keyed by the token, so that a header written differently does not
    # open a new window.
    count = rt.limits.hit if tally is CountMode.NOW else rt.limits.peek
    key = None
    if _is_local_operator(rt, header, address):
        allowance = build_uncounted_allowance(REQUESTS, rt.config.rate_limit)
    else:
        allowance = count(REQUESTS, caller.credential, rt.config.rate_limit)
    if entrance.policy is not REQUESTS and allowance.is_allowed:
        key = network_prefix(address()) if entrance.policy.per == "address" else caller.credential
        allowance = count(entrance.policy, key, entrance.policy.limit)
    refusal = _find_problem(caller, entrance, allowance, tally)
    if refusal is None and caller.lane is Lane.SESSION and not entrance.is_safe:
        refusal = session_lane.find_csrf_problem(rt, header)
    return Admission(allowance, caller, refusal, key)


def refund(rt: Runtime, admission: Admission) -> Admission:
    """Return ``admission`` with the unit of the route's own limit refunded, because nothing was done."""
    if admission.key is None:
        return admission
    policy = admission.allowance.policy
    return replace(admission, allowance=rt.limits.refund(policy, admission.key, policy.limit))


def _is_local_operator(rt: Runtime, header: HeaderOf, address: Callable[[], str]) -> bool:
    """Return whether the sender can read the data directory and connects from this host.

    No limit can protect the server from them. Behind a proxy on this host all requests come from loopback, so the
    address alone proves nothing.
    """
    proof, authorization = header(HEADER.lower()), header("authorization")
    if not proof or not authorization or any(header(name) is not None for name in _FORWARDING_HEADERS):
        return False
    return _is_loopback(address()) and is_proof(proof, instance_key(rt.config.data_dir), authorization)


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _admit_design_tool(rt: Runtime, authorization: str | None, address: str) -> Admission:
    """Check a request of the design tool, which has separate limits.

    The address is counted first, so that checking tokens is limited too.
    """
    limit = rt.config.design_rate
    allowance = rt.limits.hit(DESIGN_ADDRESS, network_prefix(address), limit)
    if not allowance.is_allowed:
        return Admission(allowance, refusal=rate_limit_problem(allowance))
    try:
        caller = tokens.authenticate_user(rt, authorization)
    except Problem as problem:
        return Admission(allowance, refusal=problem)
    allowance = rt.limits.hit(DESIGN_USER, caller.design_user, limit)
    return Admission(allowance, caller, None if allowance.is_allowed else rate_limit_problem(allowance))


def _admit_by_address(rt: Runtime, entrance: AccessRule, address: str, tally: CountMode) -> Admission:
    policy = entrance.policy if entrance.is_public else REQUESTS
    limit = rt.config.rate_limit if policy is REQUESTS else policy.limit
    count = rt.limits.peek if tally is CountMode.LATER else rt.limits.hit
    allowance = count(policy, network_prefix(address), limit)
    return Admission(allowance, refusal=None if allowance.is_allowed else rate_limit_problem(allowance))


def _credential_problem() -> Problem:
    return Problem("unauthorized", "This route requires a credential.")


def _find_problem(caller: Caller, entrance: AccessRule, allowance: Allowance, tally: CountMode) -> Problem | None:
    if tally is not CountMode.ALREADY_COUNTED and not allowance.is_allowed:
        return rate_limit_problem(allowance)
    if caller.lane is Lane.MANAGE:
        return _find_manage_problem(caller, entrance)
    if caller.only_file_id is not None and not entrance.is_for_one_file:
        return Problem("forbidden", "This key is restricted to one file and cannot use this route.")
    if caller.lane is not Lane.SESSION and not entrance.allows_bearer:
        return invalid_credential(
            "Only signed-in browsers can use this route; with a key, use the same route below /api/v1."
        )
    try:
        if entrance.scope is not None:
            caller.require_scope(entrance.scope)
    except Problem as problem:
        return problem
    return None


def _find_manage_problem(caller: Caller, entrance: AccessRule) -> Problem | None:
    """Return why a manage token is not accepted; the service checks whether it fits the file."""
    if not entrance.allows_manage_token:
        return invalid_credential("This operation does not accept manage tokens.")
    if entrance.is_owner_only:
        # Always, even if the token has expired or its file was claimed.
        hint = "Claim the file into an account, and use the account's credential."
        return Problem("forbidden", "A manage token cannot do this.", hint=hint)
    return invalid_credential("The manage token has expired.") if caller.is_expired else None
