"""``docshare api``: send any request to the current server, for operations without a command."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docshare.cli.framework.app import App
from docshare.cli.framework.clients import make_anonymous_client
from docshare.cli.framework.context import current_context
from docshare.cli.framework.dry_run import DryRunSend, print_requests
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import require_absent
from docshare.cli.terminal.output import Spec
from docshare.client.errors import Refused

if TYPE_CHECKING:
    from docshare.cli.commands.api.request import ApiRequest
    from docshare.client import Client
    from docshare.client.raw import RawResponse

app = App()

STDERR, STDOUT = "stderr", "stdout"
_FEED_PATHS = ("/api/v1/events", "/api/v1/gate-responses", "/api/v1/activity")
_CREATE_PATHS = ("/api/v1/files", "/api/v1/files/import", "/api/v1/files/claim")
_SPEC = Spec()


def _check_error_body(value: str) -> str:
    if value not in (STDERR, STDOUT):
        raise typer.BadParameter(f"{value!r} is not one of {STDERR}, {STDOUT}.")
    return value


@app.command("api", spec=_SPEC)
def api(
    method: Annotated[str, typer.Argument(metavar="METHOD", help="GET, POST, PUT, DELETE, ...")],
    path: Annotated[str, typer.Argument(metavar="ADDRESS", help="Path of the API, such as /files, or a URL.")],
    texts: Annotated[
        list[str] | None, typer.Option("--raw-field", "-f", metavar="K=V", help="Add a string field.")
    ] = None,
    typed: Annotated[
        list[str] | None,
        typer.Option("--field", "-F", metavar="K=V", help="Add a typed field: true, null, 3, @FILE, or K:=JSON."),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--input", metavar="F", help="Send this file as the body, by default as JSON; '-' is stdin."),
    ] = None,
    form: Annotated[
        list[str] | None, typer.Option("--form", metavar="K=V", help="Add a form part; K=@FILE uploads a file.")
    ] = None,
    headers: Annotated[
        list[str] | None, typer.Option("-H", metavar="'K: V'", help="Add a header; 'K: @FILE' reads its value.")
    ] = None,
    include: Annotated[bool, typer.Option("--include", "-i", help="Print status and headers on stderr.")] = False,
    output: Annotated[str | None, typer.Option("--output", "-o", metavar="F", help="Write the body to a file.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    paginate: Annotated[bool, typer.Option("--paginate", help="Fetch all rows of a feed (/events, ...).")] = False,
    error_body: Annotated[
        str,
        typer.Option(
            metavar="stderr|stdout", callback=_check_error_body, help="Stream for the body of an error response."
        ),
    ] = STDERR,
    no_auth: Annotated[bool, typer.Option("--no-auth", help="Send no credential, to any server.")] = False,
    dry_run: DryRunSend = False,
) -> ExitCode:
    """Send any request and print the response body.

    A path is relative to /api/v1, unless it begins with /api/, /oauth/, or /.well-known/, or is /oembed or /healthz. A
    URL must belong to the current server, because the credential is sent nowhere else. Fields of GET and DELETE
    requests are added to the query. Fields of other methods form a JSON object, in which dots create nested objects;
    with --input or --form they are added to the query. --form without a file sends a URL-encoded form; K=<FILE reads
    the value from a file.

    Passwords and tokens must come from files: -F password=@pw.txt

    On a terminal, JSON is pretty-printed and binary data is rejected. --query, --fields, --template, and --format apply
    to JSON. Error responses are printed on stderr, and the exit code shows the kind of error (docshare help
    exit-codes). A POST request that may have arrived is not retried.

    Examples:

      docshare api GET /files
      docshare api GET /events -f type=download -f limit=5 --query '[].fileName'
      docshare api PUT /files/aB3dE5fG7hJ9/settings -F viewLimit=3 -F viewerSettings.flip.speedMs=450
      docshare api POST /files --form file=@deck.pdf
      docshare api GET /files/aB3dE5fG7hJ9/qr-code -o code.png
      docshare api POST /api/webhooks --input hook.json
    """
    from docshare.cli.commands.api import response
    from docshare.cli.commands.api.request import RequestArguments, parse_request

    ctx = current_context()
    given = RequestArguments(method, path, texts or (), typed or (), form or (), headers or (), source)
    request = parse_request(ctx, given, stranger=no_auth)
    if paginate:
        _require_feed(request)
    if dry_run:
        return print_requests(ctx, [request.preview()])
    if output is not None:
        require_absent(output, force=force)
    client = make_anonymous_client(ctx, request.base) if no_auth else ctx.client()
    with client, ExitStack() as held:
        if paginate:
            response.print_feed(ctx, client, request)
            return ExitCode.OK
        try:
            answer = _send(client, request, held)
        except Refused as refusal:
            if _may_be_file_limit(refusal, request):
                from docshare.cli.commands.upload.file_limit import is_at_file_limit

                refusal.is_at_file_limit = is_at_file_limit(client)
            response.print_refusal(ctx, refusal, include=include, on_stdout=error_body == STDOUT)
            raise
        if include:
            response.print_head(ctx, answer.status, answer.headers)
        if output in (None, "-"):
            response.write_response(ctx, answer)
        else:
            response.save_response(ctx, answer, Path(output))
    return ExitCode.OK


def _send(client: "Client", request: "ApiRequest", held: ExitStack) -> "RawResponse":
    return client.raw.request(
        request.method, request.path, params=request.params, body=request.open_body(held), headers=request.headers
    )


def _may_be_file_limit(refusal: Refused, request: "ApiRequest") -> bool:
    return refusal.code == "forbidden" and request.method == "POST" and request.path in _CREATE_PATHS


def _require_feed(request: "ApiRequest") -> None:
    if request.method != "GET" or request.path not in _FEED_PATHS:
        raise Stop(ExitCode.USAGE, "--paginate works only with /events, /gate-responses, and /activity")
    since = str(request.params.get("since", 0))
    if "limit" in request.params or not (since.isascii() and since.isdigit()):
        raise Stop(ExitCode.USAGE, "--paginate and limit cannot be used together, and since must be an id")
