"""The two documents that anybody may read: what this API is, and its OpenAPI description (section API root)."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

import yaml
from flask import Response

from docshare import __version__
from docshare.contract.limits import DEPRECATION_NOTICE_MS, RATE_HEADERS, REQUESTS, SECOND, SPECIFICATION_VERSION
from docshare.contract.plans import DAY
from docshare.contract.problems import MEDIA_TYPE
from docshare.contract.scopes import LANES, Lane
from docshare.server.api import answers
from docshare.server.shell import rt

_METHODS = ("get", "post", "put", "delete")


def show() -> Response:
    """``GET /api/v1``: the discovery document. Spec gap: its shape."""
    config = rt().config
    base_url = config.base_url
    specification = f"{base_url}/api/v1/openapi.json"
    lane = LANES[Lane.API_KEY]
    return answers.json(
        {
            "name": "docshare",
            "version": __version__,
            "specification": {"url": specification, "version": SPECIFICATION_VERSION},
            "documentation": specification,
            "authentication": {
                "lanes": [{"name": Lane.API_KEY.value, "scheme": "Bearer", "scopes": sorted(lane.scopes)}],
                "oauth": {
                    "authorizationServer": f"{base_url}/.well-known/oauth-authorization-server",
                    "protectedResource": f"{base_url}/.well-known/oauth-protected-resource",
                },
            },
            "rateLimit": {
                "policy": f'"{REQUESTS.name}";q={config.rate_limit};w={REQUESTS.window_ms // SECOND}',
                "headers": [*RATE_HEADERS, "Retry-After"],
            },
            "errors": {"mediaType": MEDIA_TYPE},
            "versioning": {
                "current": "v1",
                "changes": "additive",
                "deprecationHeaders": ["Deprecation", "Sunset", "Link"],
                "noticeDays": DEPRECATION_NOTICE_MS // DAY,
            },
            "endpoints": _endpoints(),
        }
    )


def openapi() -> Response:
    """``GET /api/v1/openapi.json``: the OpenAPI description of the routes that stand."""
    return Response(_drawn(rt().config.base_url), content_type=answers.JSON_TYPE)


def _endpoints() -> dict[str, str]:
    return {
        operation["operationId"]: f"{method.upper()} {path}"
        for path, item in description()["paths"].items()
        for method, operation in item.items()
        if method in _METHODS
    }


@cache
def description() -> dict[str, Any]:
    """``openapi.yaml`` as it stands in the package."""
    text = files("docshare.server.api").joinpath("openapi.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


@cache
def _drawn(base_url: str) -> str:
    return json.dumps({**description(), "servers": [{"url": base_url}]})
