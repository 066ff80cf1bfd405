"""Parse an import request, and check its host against the operator's allowlist. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from docshare.contract import fields, limits, media
from docshare.contract.names import clean_name
from docshare.contract.problems import Problem
from docshare.server.outbound.targets import OutboundTarget, parse_target

_HTTPS_PORT = 443


@dataclass(frozen=True)
class ImportRequest:
    """The URL of the document, the ``name`` to store it under, and the tokens of the design tool as sent, empty if
    absent."""

    target: OutboundTarget
    name: str
    user_token: str = ""
    design_token: str = ""


def parse_import(body: Mapping[str, object], default_name: str = media.IMPORT_NAME) -> ImportRequest:
    """Parse the body of an import. Raises ``bad_request``.

    Invalid tokens of the design tool are accepted here: if they cannot be verified, the import is a plain create.
    """
    user_token, design_token = read_text(body, "designToolUserToken"), read_text(body, "designToken")
    url = fields.parse_https_url("url", body.get("url"), limits.IMPORT_URL_CHARS)
    try:
        target = parse_target(url)
    except ValueError as error:  # brackets around a text that is not an IPv6 address
        raise fields.field_problem("url", "an address with a valid host") from error
    name = clean_name(read_text(body, "filename"), default_name)
    return ImportRequest(target, name, user_token, design_token)


def require_allowed_host(target: OutboundTarget, hosts: Sequence[str]) -> None:
    """Raise ``forbidden`` unless ``hosts``, entries ``host`` or ``host:port``, contain the host and port of
    ``target``.

    An entry without a port means 443. An entry does not cover subdomains of its host.
    """
    if not any(_is_entry_for(entry, target) for entry in hosts):
        raise Problem(
            "forbidden",
            f"Imports from {target.host_header} are not allowed.",
            hint="The operator of this server can allow the host in DOCSHARE_IMPORT_HOSTS.",
        )


def require_pdf(head: bytes) -> None:
    """Raise ``bad_request`` unless ``head``, the first bytes of the source, begins a PDF."""
    if media.detect_document_type(head) != "pdf":
        raise Problem(
            "bad_request",
            "The source is not a PDF.",
            hint="Only PDFs can be imported; download other files and upload them.",
        )


def read_text(body: Mapping[str, object], field: str) -> str:
    """Return the text in ``field`` of ``body``, empty if absent. Raises ``bad_request``."""
    value = body.get(field, "")
    if not isinstance(value, str):
        raise fields.field_problem(field, "a string")
    return value


def _is_entry_for(entry: str, target: OutboundTarget) -> bool:
    return entry == f"{target.bare_host}:{target.port}" or (target.port == _HTTPS_PORT and entry == target.bare_host)
