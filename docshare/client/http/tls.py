"""Reasons of failed TLS handshakes."""

import ssl

_PLAIN_HTTP_REASONS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE")


def is_plain_http(error: BaseException) -> bool:
    """Return whether a TLS handshake failed with ``error`` because the server speaks plain http on this port."""
    return isinstance(error, ssl.SSLError) and error.reason in _PLAIN_HTTP_REASONS
