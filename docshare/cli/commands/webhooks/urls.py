"""What can be said about the address of a webhook before the server is asked. The server judges again, and finally."""

import re
from typing import TYPE_CHECKING

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.client.address import is_loopback
from docshare.contract import fields
from docshare.contract.limits import URL_CHARS
from docshare.contract.problems import Problem

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context

_SLACK_HOST = "hooks.slack.com"
_SLACK_MESSAGE_PATH = "/services/"  # other addresses of that host take any JSON
_PARTS = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)", re.IGNORECASE)
_NUMERIC_LABEL = re.compile(r"[0-9]+|0x[0-9a-f]*", re.IGNORECASE)


def check_url(context: "Context", url: str, *, private: bool) -> None:
    """Stop (2) for an address that no server takes (section Webhooks): not https, with a user name, too long, private.

    ``private``: http and private addresses are left to the server, whose operator may have allowed them. They are as
    well where the server is this machine, which is how webhooks are tried out.
    """
    parts = _PARTS.match(url)
    scheme = parts["scheme"].lower() if parts else ""
    if parts is None or scheme not in ("http", "https"):
        raise _address_error(f"{url!r} is no https address")
    if len(url) > URL_CHARS:
        raise _address_error(f"the address has {len(url)} characters; a webhook's may have {URL_CHARS}")
    if "@" in parts["authority"]:
        raise _address_error(
            "the address holds a user name", "Put what your receiver checks into the path or the query."
        )
    _check_syntax(url, scheme)
    if not (private or _is_local_server(context)):
        _check_public(parts["authority"], scheme)


def check_format(url: str, format: str | None) -> None:
    """Stop (2) where Slack would be sent what it does not understand because no format was given."""
    parts = _PARTS.match(url)
    if (
        format is None
        and parts
        and parts["authority"].lower() == _SLACK_HOST
        and parts["path"].startswith(_SLACK_MESSAGE_PATH)
    ):
        raise Stop(
            ExitCode.USAGE,
            "this is an address of Slack, which understands messages of its own only",
            hint="Add --format slack; with --format json the events are sent as they are.",
        )


def _check_syntax(url: str, scheme: str) -> None:
    try:
        fields.https_url("URL", "https" + url[len(scheme) :], URL_CHARS + 1)  # an http address is a letter shorter
    except Problem as problem:
        raise _address_error(problem.detail) from None


def _is_local_server(context: "Context") -> bool:
    from urllib.parse import urlsplit

    return is_loopback(urlsplit(context.connection.origin).hostname or "")


def _check_public(authority: str, scheme: str) -> None:
    from ipaddress import ip_address

    hint = "If the server's operator has allowed it (DOCSHARE_WEBHOOK_ALLOW): --private"
    if scheme != "https":
        raise _address_error("webhooks are sent over https only", hint)
    host = re.sub(":[0-9]*$", "", authority).strip("[]").rstrip(".").lower()
    if is_loopback(host):
        raise _address_error(f"{host} is this machine to the server: it would call itself", hint)
    try:
        address = ip_address(host)
    except ValueError:
        if _NUMERIC_LABEL.fullmatch(host.rpartition(".")[2]):
            raise _address_error(f"{host} is no name of a host") from None
        return
    if not address.is_global or address.is_multicast:
        raise _address_error(f"{host} is not reachable from everywhere", hint)


def _address_error(detail: str, hint: str = "") -> Stop:
    return Stop(ExitCode.USAGE, detail, hint=hint)
