"""Who may pass: rate limit, credential and scope of one request, judged before anything is looked up.

The listener asks for uploads before their bodies, the application for everything else.
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
from docshare.server.http.rate_limits import Allowance, address_key, uncounted_allowance
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller, authenticate, invalid_credential
from docshare.server.services.designs import tokens
from docshare.server.store.instance import instance_key


@dataclass(frozen=True)
class AccessRule:
    """The requirements of a route: ``scope`` None and ``public`` False is an address without a route; ``policy``
    limits a public route by address, and any other in addition to the default policy; ``manage``: accepts manage
    tokens, otherwise they are not a credential; ``owners_only``: manage tokens are recognized and rejected;
    ``session``: a browser's session will do for a credential, and without ``bearer`` nothing else does; ``design``:
    only a token of the design tool does; ``safe``: the route changes nothing."""

    is_public: bool = False
    scope: str | None = None
    policy: RatePolicy = REQUESTS
    allows_manage_token: bool = False
    is_owner_only: bool = False
    allows_session: bool = False
    allows_bearer: bool = True
    is_design_lane: bool = False
    is_safe: bool = False


@dataclass(frozen=True)
class Admission:
    """The judgement: ``allowance`` for the headers; ``refusal`` None if the request may go on; ``caller`` None where
    no credential is asked for or none is valid; ``key`` by which the policy of the route counted it, None where it has
    none of its own."""

    allowance: Allowance
    caller: Caller | None = None
    refusal: Problem | None = None
    key: str | None = None


class CountMode(Enum):
    """When a request is counted: ``NOW``; ``BEFORE``, so that its place in the window is taken; ``LATER``, by the
    application, so that this judgement only looks."""

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
    """Judge one request.

    Parameters: ``header`` tells the request's headers, ``address`` the reader's IP where it matters; ``tally`` when the
    request is counted.
    """
    authorization = header("authorization")
    if entrance.is_design_lane:
        return _admit_design_tool(rt, authorization, address())
    # A bearer token decides alone: it proves who the caller is, and browsers never add it by themselves.
    if entrance.allows_session and not authorization and (signed_in := session_lane.find_session_caller(rt, header)):
        return _admit_caller(rt, entrance, signed_in, header, address, tally)
    if entrance.is_public or not authorization:
        # A request without a credential counts under the general window of its address, not under failures.
        admission = _admit_by_address(rt, entrance, address(), tally)
        missing = entrance.scope is not None and admission.refusal is None
        return Admission(admission.allowance, refusal=_credential_problem()) if missing else admission
    try:
        caller = authenticate(rt, authorization)
    except Problem as problem:
        # Failed credentials are counted by address, or every guess would have a separate window.
        count = rt.limits.peek if tally is CountMode.LATER else rt.limits.hit
        allowance = count(ADDRESS, address_key(address()), rt.config.address_limit)
        return Admission(allowance, refusal=problem if allowance.is_allowed else rate_limit_problem(allowance))
    return _admit_caller(rt, entrance, caller, header, address, tally)


def _admit_caller(
    rt: Runtime, entrance: AccessRule, caller: Caller, header: HeaderOf, address: Callable[[], str], tally: CountMode
) -> Admission:
    """The judgement of a request whose ``caller`` is known."""
    # A valid key passes although its address used up its failures, or a stranger behind the same address
    # could lock its owner out. Keyed by the token, so that a header written differently does not open a new window.
    count = rt.limits.hit if tally is CountMode.NOW else rt.limits.peek
    key = None
    if _is_local_operator(rt, header, address):
        allowance = uncounted_allowance(REQUESTS, rt.config.rate_limit)
    else:
        allowance = count(REQUESTS, caller.credential, rt.config.rate_limit)
    if entrance.policy is not REQUESTS and allowance.is_allowed:
        key = address_key(address()) if entrance.policy.per == "address" else caller.credential
        allowance = count(entrance.policy, key, entrance.policy.limit)
    refusal = _find_problem(caller, entrance, allowance, tally)
    if refusal is None and caller.lane is Lane.SESSION and not entrance.is_safe:
        refusal = session_lane.find_csrf_problem(rt, header)
    return Admission(allowance, caller, refusal, key)


def refund(rt: Runtime, admission: Admission) -> Admission:
    """Return ``admission`` with the unit of the route's own limit given back: nothing was done for it."""
    if admission.key is None:
        return admission
    policy = admission.allowance.policy
    return replace(admission, allowance=rt.limits.refund(policy, admission.key, policy.limit))


def _is_local_operator(rt: Runtime, header: HeaderOf, address: Callable[[], str]) -> bool:
    """Whether somebody sent this who can read the data directory, from this very host: no limit protects the server
    from them. Behind a proxy on this host everybody comes from loopback, so the address alone shows nothing."""
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
    """Judge a request on the lane of the design tool, which has separate limits.

    The address is counted first, so that nobody has tokens checked for free.
    """
    limit = rt.config.design_rate
    allowance = rt.limits.hit(DESIGN_ADDRESS, address_key(address), limit)
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
    allowance = count(policy, address_key(address), limit)
    return Admission(allowance, refusal=None if allowance.is_allowed else rate_limit_problem(allowance))


def _credential_problem() -> Problem:
    return Problem("unauthorized", "This route needs a credential.")


def _find_problem(caller: Caller, entrance: AccessRule, allowance: Allowance, tally: CountMode) -> Problem | None:
    if tally is not CountMode.ALREADY_COUNTED and not allowance.is_allowed:
        return rate_limit_problem(allowance)
    if caller.lane is Lane.MANAGE:
        return _find_manage_problem(caller, entrance)
    if caller.lane is not Lane.SESSION and not entrance.allows_bearer:
        return invalid_credential(
            "Only a signed-in browser can do this here; with a key there is the same below /api/v1."
        )
    try:
        if entrance.scope is not None:
            caller.require_scope(entrance.scope)
    except Problem as problem:
        return problem
    return None


def _find_manage_problem(caller: Caller, entrance: AccessRule) -> Problem | None:
    """Why a manage token may not pass; what its file says to it is the service's matter."""
    if not entrance.allows_manage_token:
        return invalid_credential("This operation does not accept manage tokens.")
    if entrance.is_owner_only:
        # Always, also for a token past its end or of a claimed file.
        hint = "Claim the file into an account, and use the account's credential."
        return Problem("forbidden", "A manage token cannot do this.", hint=hint)
    return invalid_credential("The manage token has expired.") if caller.is_expired else None
