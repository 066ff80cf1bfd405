"""The rate-limit headers of every response under /api.

``RateLimit`` and ``RateLimit-Policy`` are the structured fields of draft-ietf-httpapi-ratelimit-headers-10; the three
``X-RateLimit-*`` headers have the same values for older clients. All times are seconds from now.
"""

from docshare.contract.limits import REQUESTS, SECOND
from docshare.contract.problems import Problem
from docshare.server.rate_limits import Allowance, build_uncounted_allowance
from docshare.server.runtime import Runtime

Headers = list[tuple[str, str]]


def rate_headers(allowance: Allowance) -> Headers:
    """Return the headers for ``allowance``."""
    name, limit, remaining, reset = allowance.policy.name, allowance.limit, allowance.remaining, allowance.reset_s
    return [
        ("RateLimit-Policy", f'"{name}";q={limit};w={allowance.policy.window_ms // SECOND}'),
        ("RateLimit", f'"{name}";r={remaining};t={reset}'),
        ("X-RateLimit-Limit", str(limit)),
        ("X-RateLimit-Remaining", str(remaining)),
        ("X-RateLimit-Reset", str(reset)),
    ]


def rate_limit_problem(allowance: Allowance) -> Problem:
    """Return the problem for a request above the limit, with the time to wait in ``Retry-After``."""
    return Problem(
        "rate_limited",
        f"More than {allowance.limit} requests in {allowance.policy.window_ms // SECOND} seconds.",
        headers={"Retry-After": str(allowance.reset_s)},
    )


def full_allowance(rt: Runtime) -> Allowance:
    """Return the allowance for a request whose caller cannot be identified because it is malformed; nothing was
    counted."""
    return build_uncounted_allowance(REQUESTS, rt.config.rate_limit)
