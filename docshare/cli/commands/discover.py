"""``docshare discover``: fetch the discovery documents of a server, without reading or sending a credential."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from docshare.cli.framework.app import App
from docshare.cli.framework.clients import make_anonymous_client
from docshare.cli.framework.context import current_context
from docshare.cli.terminal.cells import get_nested
from docshare.cli.terminal.output import Column, Spec
from docshare.cli.terminal.text import clean
from docshare.client.errors import Refused

app = App()


def _format_lanes(row: Mapping[str, Any]) -> str:
    lanes = get_nested(row, "authentication.lanes")
    names = [str(lane.get("name", "")) for lane in lanes if isinstance(lane, Mapping)] if lanes else []
    return clean(", ".join(names))


def _format_endpoints(row: Mapping[str, Any]) -> str:
    known = row.get("endpoints")
    return f"{len(known)} (list them with --query endpoints)" if isinstance(known, Mapping | list) else ""


def _make_list_column(key: str) -> Column:
    """Return the column of a list of strings, with a heading made from its key."""
    return Column(key, key.removesuffix("_supported").replace("_", " "), show=lambda row: _join_words(row.get(key)))


def _join_words(value: Any) -> str:
    return clean(" ".join(map(str, value))) if isinstance(value, list) else ""


# The keys that the bundled server sends.
_ROOT = Spec(
    table=(
        Column("name", "name", role="bold"),
        Column("version", "version"),
        Column("versioning.current", "API"),
        Column("specification.version", "specification"),
        Column("specification.url", "description", role="id"),
        Column("documentation", "documentation", role="id"),
        Column("authentication.lanes", "credentials", show=_format_lanes),
        Column("authentication.oauth.authorizationServer", "OAuth", role="id"),
        Column("rateLimit.policy", "rate limit"),
        Column("endpoints", "operations", show=_format_endpoints),
    ),
    plain=("name", "version"),
    fields=(
        "specification", "documentation", "authentication", "rateLimit", "errors", "versioning", "endpoints",
    ),
    id="name",
)  # fmt: skip

# The metadata fields of RFC 8414, section 2, in its order.
_OAUTH = Spec(
    table=(
        Column("issuer", "issuer", role="bold"),
        Column("authorization_endpoint", "authorization", role="id"),
        Column("token_endpoint", "token", role="id"),
        Column("revocation_endpoint", "revocation", role="id"),
        Column("device_authorization_endpoint", "device login", role="id"),
        _make_list_column("scopes_supported"),
        _make_list_column("grant_types_supported"),
        _make_list_column("code_challenge_methods_supported"),
        _make_list_column("token_endpoint_auth_methods_supported"),
        Column("service_documentation", "documentation", role="id"),
    ),
    plain=("issuer", "authorization_endpoint", "token_endpoint", "revocation_endpoint"),
    fields=(
        "scopes_supported", "response_types_supported", "response_modes_supported", "grant_types_supported",
        "token_endpoint_auth_methods_supported", "service_documentation", "revocation_endpoint_auth_methods_supported",
        "code_challenge_methods_supported", "authorization_response_iss_parameter_supported",
        "device_authorization_endpoint",
    ),
    id="issuer",
)  # fmt: skip
_COMBINED = Spec(fields=(*_ROOT.known_fields(), *_OAUTH.known_fields()), id="name")


@app.command("discover", spec=_COMBINED)
def discover(
    oauth: Annotated[bool, typer.Option("--oauth", help="Show the OAuth server metadata instead.")] = False,
) -> None:
    """Show the version and endpoints of a server.

    The output includes the version, the API operations, and the accepted credentials. The command needs no credential
    and sends none. Piped output has one line per field; --json prints the document as received. With --oauth, the exit
    code is 3 if the server does not support OAuth.

    Examples:

      docshare discover
      docshare discover --url https://docs.example --json
      docshare discover --query endpoints --format plain
      docshare discover --oauth --fields token_endpoint
    """
    ctx = current_context()
    printer = ctx.emitter(_OAUTH if oauth else _ROOT)
    with make_anonymous_client(ctx) as client:
        printer.emit(_fetch_oauth_metadata(client.oauth.metadata) if oauth else client.discover())


def _fetch_oauth_metadata(ask: Any) -> dict[str, Any]:
    try:
        found: dict[str, Any] = ask()
    except Refused as refusal:
        if refusal.status == 404:
            refusal.hint = "This server does not support OAuth; use an API key: docshare auth login --with-token"
        raise
    return found
