"""Security headers of everything that a browser opens."""

from urllib.parse import urlsplit

from flask import Response, request

# No inline script or style, nothing from another origin, and strings never become markup or code.
_SOURCES = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "font-src": "'self'",
    "media-src": "'self'",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'self'",
    "require-trusted-types-for": "'script'",
    "trusted-types": "'none'",
}
# The sources that Google documents for Analytics 4 without advertising, and the only policy that can name its script.
_WITH_ANALYTICS = _SOURCES | {
    "script-src": "'self' https://www.googletagmanager.com",
    "img-src": "'self' https://*.google-analytics.com https://*.googletagmanager.com",
    "connect-src": "'self' https://*.google-analytics.com https://*.analytics.google.com https://*.googletagmanager.com",
    "trusted-types": "docshare-analytics",
}


def _render_policy(sources: dict[str, str], ancestors: str) -> str:
    whole = {**sources, "frame-ancestors": ancestors}
    return "; ".join(f"{name} {value}" for name, value in whole.items())


_NOT_FRAMABLE = _render_policy(_SOURCES, "'none'")
_WITH_OWN_FRAMES = _render_policy(_SOURCES | {"frame-src": "'self'"}, "'none'")
_FRAMABLE_HERE = _render_policy(_SOURCES, "'self'")
_FRAMABLE = _render_policy(_SOURCES, "*")
_FRAMABLE_POLICIES = {
    None: _FRAMABLE,
    _render_policy(_WITH_ANALYTICS, "'none'"): _render_policy(_WITH_ANALYTICS, "*"),
}
_ALL_FRAMABLE = frozenset(_FRAMABLE_POLICIES.values())

_SECURITY_HEADERS = (
    ("Content-Security-Policy", _NOT_FRAMABLE),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Robots-Tag", "noindex, nofollow"),
    (
        "Permissions-Policy",
        "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), magnetometer=(), "
        "microphone=(), midi=(), payment=(), publickey-credentials-get=(), usb=(), browsing-topics=(), "
        "fullscreen=(self)",
    ),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cache-Control", "private, no-store"),
    ("Vary", "Authorization, Cookie"),
)
# Paths that apps call from pages on other origins. Each caller sends a credential or requests public data; cookies
# are ignored at these paths, so credentials are never allowed.
_CORS_PATHS = frozenset(
    {
        "/oauth/token",
        "/oauth/revoke",
        "/oauth/device_authorization",
        "/oembed",
        "/.well-known/oauth-authorization-server",
        "/.well-known/oauth-protected-resource",
    }
)
_PREFLIGHT_SECONDS = "7200"  # the maximum that Chromium caches one
_DEFAULT_HEADERS = tuple((name.lower(), name, value) for name, value in _SECURITY_HEADERS)


def allow_analytics(response: Response) -> Response:
    """Allow ``response`` to load the analytics that the document's owner has set; for the viewer only."""
    response.headers["Content-Security-Policy"] = _render_policy(_WITH_ANALYTICS, "'none'")
    return response


def allow_framing(response: Response) -> Response:
    """Allow any site to frame ``response``; for the embed page only."""
    policy = response.headers.get("Content-Security-Policy")
    response.headers["Content-Security-Policy"] = _FRAMABLE_POLICIES[policy]
    # A site that isolates itself may only frame responses with this header.
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    return response


def allow_other_origins(response: Response) -> Response:
    """Allow pages of any origin to load ``response``; for files that are public and the same for everybody."""
    response.headers["Access-Control-Allow-Origin"] = "*"
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    return response


def allow_own_frames(response: Response) -> Response:
    """Allow ``response`` to frame pages of this server; for the owner's page with the preview."""
    response.headers["Content-Security-Policy"] = _WITH_OWN_FRAMES
    return response


def allow_framing_here(response: Response) -> Response:
    """Allow pages of this server, and no others, to frame ``response``; for the preview."""
    response.headers["Content-Security-Policy"] = _FRAMABLE_HERE
    response.headers["X-Frame-Options"] = "SAMEORIGIN"
    return response


def allow_forms_to(response: Response, address: str) -> Response:
    """Allow the form of ``response`` to redirect to the site of ``address``: browsers apply the policy to redirects
    too."""
    parts = urlsplit(address)
    place = f"{parts.scheme}://{parts.netloc}" if parts.netloc else f"{parts.scheme}:"
    response.headers["Content-Security-Policy"] = _render_policy(
        _SOURCES | {"form-action": f"'self' {place}"}, "'none'"
    )
    return response


def add_security_headers(response: Response) -> Response:
    """Add the default headers to ``response``, except those that a view has set. ``/api`` has its own."""
    if request.path.startswith("/api/"):
        return response
    if request.path in _CORS_PATHS:
        _allow_all_origins(response)
    # Every page image passes here, so the headers are read once, and not once for each default header.
    present = {name.lower(): value for name, value in response.headers}
    if present.get("content-security-policy") in _ALL_FRAMABLE:
        present["x-frame-options"] = ""
    if present.get("cache-control", "").startswith("public"):
        present["vary"] = ""  # the same for everybody
    for key, name, value in _DEFAULT_HEADERS:
        if key not in present:
            response.headers.add(name, value)
    return response


def _allow_all_origins(response: Response) -> None:
    """Allow scripts of any site to read ``response``, and answer their preflight requests."""
    response.headers["Access-Control-Allow-Origin"] = "*"
    response.headers["Access-Control-Expose-Headers"] = "Retry-After, WWW-Authenticate, X-Request-Id"
    if request.method == "OPTIONS":
        response.headers["Access-Control-Allow-Methods"] = response.headers.get("Allow", "")
        # The wildcard does not cover Authorization (Fetch standard).
        response.headers["Access-Control-Allow-Headers"] = "Authorization, Content-Type, *"
        response.headers["Access-Control-Max-Age"] = _PREFLIGHT_SECONDS
