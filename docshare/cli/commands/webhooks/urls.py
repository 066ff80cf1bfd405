"""Validate the URL of a webhook before sending it. The server validates it again."""

import re
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.client.address import is_loopback
from docshare.contract import fields
from docshare.contract.limits import URL_CHARS
from docshare.contract.problems import Problem

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context

_SLACK_HOST = "hooks.slack.com"
_SLACK_MESSAGE_PATH = "/services/"  # other URLs of that host accept any JSON
_PARTS = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)", re.IGNORECASE)
_NUMERIC_LABEL = re.compile(r"[0-9]+|0x[0-9a-f]*", re.IGNORECASE)


def check_url(context: "Context", url: str, *, private: bool) -> None:
    """Raise Stop (2) for a URL that every server rejects: not https, with a user name, too long, or private.

    With ``private``, http URLs and private addresses are left to the server, whose operator may allow them. The same
    holds for a server on this machine, so that receivers can be developed locally.
    """
    parts = _PARTS.match(url)
    scheme = parts["scheme"].lower() if parts else ""
    if parts is None or scheme not in ("http", "https"):
        raise _address_error(f"{url!r} is not an https URL")
    if len(url) > URL_CHARS:
        raise _address_error(f"the URL has {len(url)} characters; the limit is {URL_CHARS}")
    if "@" in parts["authority"]:
        raise _address_error(
            "the URL must not contain a user name", "Put secrets for your receiver into the path or the query."
        )
    _check_syntax(url, scheme)
    if not (private or _is_local_server(context)):
        _check_public(parts["authority"], scheme)


def check_format(url: str, format: str | None) -> None:
    """Raise Stop (2) for a Slack URL without a format, because Slack does not accept events as JSON."""
    parts = _PARTS.match(url)
    if (
        format is None
        and parts
        and parts["authority"].lower() == _SLACK_HOST
        and parts["path"].startswith(_SLACK_MESSAGE_PATH)
    ):
        raise Stop(
            ExitCode.USAGE,
            "this is a Slack URL, and Slack accepts only its own message format",
            hint="Use --format slack, or --format json to send the events unchanged.",
        )


def _check_syntax(url: str, scheme: str) -> None:
    try:
        fields.parse_https_url(
            "URL", "https" + url[len(scheme) :], URL_CHARS + 1
        )  # an http URL is one character shorter
    except Problem as problem:
        raise _address_error(problem.detail) from None


def _is_local_server(context: "Context") -> bool:
    return is_loopback(urlsplit(context.connection.origin).hostname or "")


def _check_public(authority: str, scheme: str) -> None:
    hint = "If the operator of the server allows it (DOCSHARE_WEBHOOK_ALLOW), use --private."
    if scheme != "https":
        raise _address_error("webhooks require https", hint)
    host = re.sub(":[0-9]*$", "", authority).strip("[]").rstrip(".").lower()
    if is_loopback(host):
        raise _address_error(f"{host} is a loopback address, so the server would call itself", hint)
    try:
        address = ip_address(host)
    except ValueError:
        if _NUMERIC_LABEL.fullmatch(host.rpartition(".")[2]):
            raise _address_error(f"{host} is not a valid host name") from None
        return
    if not address.is_global or address.is_multicast:
        raise _address_error(f"{host} is not a public address", hint)


def _address_error(detail: str, hint: str = "") -> Stop:
    return Stop(ExitCode.USAGE, detail, hint=hint)
