"""Security headers of everything a browser opens (hardening M14, M43 and the viewer policy)."""

from flask import Response, request

# No inline script or style anywhere, nothing from another origin, and no string ever becomes markup or code.
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "font-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_FRAMABLE = f"{_POLICY}; frame-ancestors *"
_NOT_FRAMABLE = f"{_POLICY}; frame-ancestors 'none'"

_HEADERS = (
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
_ALWAYS = tuple((name.lower(), name, value) for name, value in _HEADERS)
_ALLOW_FRAMING = {
    "Content-Security-Policy": _FRAMABLE,
    # A site that isolates itself may frame only what says so.
    "Cross-Origin-Resource-Policy": "cross-origin",
}


def allow_framing(response: Response) -> Response:
    """Let any site frame ``response``; for the embed page only."""
    response.headers.update(_ALLOW_FRAMING)
    return response


def protect(response: Response) -> Response:
    """Complete the headers of ``response``; those that a view has set stay. ``/api`` has its own."""
    if request.path.startswith("/api/"):
        return response
    # Every page image comes through here, so the headers are looked through once and not once for each.
    present = {name.lower(): value for name, value in response.headers}
    if present.get("content-security-policy") == _FRAMABLE:
        present["x-frame-options"] = ""
    if present.get("cache-control", "").startswith("public"):
        present["vary"] = ""  # the same for everybody
    for key, name, value in _ALWAYS:
        if key not in present:
            response.headers.add(name, value)
    return response
