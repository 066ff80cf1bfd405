"""What an import asks for, and whether its host is one that the operator named (section Files). Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from docshare.contract import fields, limits, media
from docshare.contract.problems import Problem
from docshare.server.outbound.targets import Target, parse_target
from docshare.server.rules.names import clean_name

DEFAULT_NAME = "design.pdf"
_HTTPS_PORT = 443
_TOKENS = ("designToolUserToken", "designToken")


@dataclass(frozen=True)
class Order:
    """Where the document is, and the ``name`` it gets here."""

    target: Target
    name: str


def parse_order(body: Mapping[str, object]) -> Order:
    """Read the body of an import. Raises ``bad_request``.

    The tokens of the design tool are texts that may be wrong: unverified they change nothing, and the import is a plain
    create (section Owned import on the design lane).
    """
    for field in _TOKENS:
        _text(body, field)
    url = fields.https_url("url", body.get("url"), limits.IMPORT_URL_CHARS)
    try:
        target = parse_target(url)
    except ValueError as error:  # brackets around what is no IPv6 address
        raise fields.refusal("url", "an address with a host that can exist") from error
    return Order(target, clean_name(_text(body, "filename"), DEFAULT_NAME))


def require_listed(target: Target, hosts: Sequence[str]) -> None:
    """Raise ``forbidden`` unless ``hosts``, entries ``host`` or ``host:port``, hold exactly the host and port of
    ``target``; an entry without a port means 443. No entry covers what lies below its host."""
    if not any(_is(entry, target) for entry in hosts):
        raise Problem(
            "forbidden",
            f"Nothing is imported from {target.host_header}.",
            hint="The operator of this server can allow the host in DOCSHARE_IMPORT_HOSTS.",
        )


def require_pdf(head: bytes) -> None:
    """Raise ``bad_request`` unless ``head``, the first bytes of the source, are those of a PDF. Spec: PDF only, so an
    office document is refused too."""
    if media.detect_document(head) != "pdf":
        raise Problem(
            "bad_request",
            "The source is not a PDF.",
            hint="Only PDF can be imported; download anything else and upload it.",
        )


def _text(body: Mapping[str, object], field: str) -> str:
    value = body.get(field, "")
    if not isinstance(value, str):
        raise fields.refusal(field, "a string")
    return value


def _is(entry: str, target: Target) -> bool:
    return entry == f"{target.bare_host}:{target.port}" or (target.port == _HTTPS_PORT and entry == target.bare_host)
