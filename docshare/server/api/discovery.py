"""The two public documents: the discovery document, and the OpenAPI description."""

from functools import cache
from importlib.resources import files
from typing import Any

from flask import Response

from docshare import __version__
from docshare.contract.limits import DEPRECATION_NOTICE_MS, RATE_HEADERS, REQUESTS, SECOND, SPECIFICATION_VERSION
from docshare.contract.plans import DAY
from docshare.contract.problems import MEDIA_TYPE
from docshare.contract.scopes import BEARER, LANES, OPERATIONS, SCOPES, Lane
from docshare.contract.wire import drop_none
from docshare.server.api import answers
from docshare.server.http.views import current_runtime

_REVALIDATE = "private, no-cache"  # a browser may cache the document, and revalidates it

# Lane -> where its credential is sent, and what it is for. A refresh token is exchanged at the token endpoint, and is
# not a credential of the API.
_LANE_DESCRIPTIONS: dict[Lane, dict[str, str]] = {
    Lane.API_KEY: {"scheme": "Bearer", "description": "An API key of an account; holds every scope."},
    Lane.OAUTH: {"scheme": "Bearer", "description": "An OAuth 2.0 access token; holds the scopes that were granted."},
    Lane.MANAGE: {"scheme": "Bearer", "description": "Changes the settings of one file that nobody has claimed."},
    Lane.CLAIM: {"field": "claimToken", "description": "Moves one file into the account that sends it in the body."},
    Lane.DESIGN: {"scheme": "Bearer", "description": "A user token (JWT) of the design tool."},
    Lane.SESSION: {"scheme": "Cookie", "description": "A signed-in browser; writes need its CSRF token."},
}


def show_discovery() -> Response:
    """``GET /api/v1``: return the discovery document."""
    config = current_runtime().config
    return answers.send_static(_build_document(config.base_url, config.rate_limit), _REVALIDATE)


def show_openapi() -> Response:
    """``GET /api/v1/openapi.json``: return the OpenAPI description of this server's routes."""
    return answers.send_static(load_openapi(current_runtime().config.base_url), _REVALIDATE)


@cache
def _build_document(base_url: str, rate_limit: int) -> answers.StaticBody:
    specification = f"{base_url}/api/v1/openapi.json"
    document = {
        "name": "docshare",
        "version": __version__,
        "specification": {"url": specification, "version": SPECIFICATION_VERSION},
        "documentation": specification,
        "authentication": {
            "lanes": [_describe_lane(lane) for lane in _LANE_DESCRIPTIONS],
            "oauth": {
                "authorizationServer": f"{base_url}/.well-known/oauth-authorization-server",
                "protectedResource": f"{base_url}/.well-known/oauth-protected-resource",
            },
        },
        "rateLimit": {
            "policy": f'"{REQUESTS.name}";q={rate_limit};w={REQUESTS.window_ms // SECOND}',
            "headers": [*RATE_HEADERS, "Retry-After"],
        },
        "errors": {"mediaType": MEDIA_TYPE},
        "versioning": {
            "current": "v1",
            "changes": "additive",
            "deprecationHeaders": ["Deprecation", "Sunset", "Link"],
            "noticeDays": DEPRECATION_NOTICE_MS // DAY,
        },
        # The OAuth endpoints have a separate metadata document.
        "endpoints": {
            name: f"{row.method} {row.path}" for name, row in OPERATIONS.items() if not name.startswith("oauth.")
        },
    }
    return answers.make_static_json(document)


def _describe_lane(lane: Lane) -> dict[str, Any]:
    row = LANES[lane]
    operations = ["files.claim"] if lane is Lane.CLAIM else [
        name for name, operation in OPERATIONS.items() if lane in operation.lanes
    ]  # fmt: skip
    return drop_none(
        {
            "name": lane.value,
            **_LANE_DESCRIPTIONS[lane],
            "prefix": row.prefix,
            "scopes": sorted(row.scopes & SCOPES.keys()),
            # An API key or access token can access everything that its scopes allow.
            "operations": None if lane in BEARER else operations,
        }
    )


@cache
def load_openapi(base_url: str) -> answers.StaticBody:
    """Return the OpenAPI description. The first call parses it, which takes most of a second of CPU time."""
    import yaml  # here: only this document needs it

    text = files("docshare.server.api").joinpath("openapi.yaml").read_text(encoding="utf-8")
    # The parser in C takes a tenth of the time; PyYAML can be built without it.
    described: dict[str, Any] = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both safe
    return answers.make_static_json({**described, "servers": [{"url": base_url}]})
