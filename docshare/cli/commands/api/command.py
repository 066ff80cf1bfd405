"""``docshare api``: send any request to the current server, for operations without a command."""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.framework.app import App
from docshare.cli.framework.clients import is_secret_name, make_anonymous_client
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.dry_run import DryRunSend, print_requests
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.failures import is_json_wanted
from docshare.cli.framework.inputs import require_absent
from docshare.cli.terminal.output import Spec, format_json
from docshare.cli.terminal.text import clean
from docshare.client.errors import Refused

if TYPE_CHECKING:
    from docshare.cli.commands.api.request import ApiRequest
    from docshare.client import Client
    from docshare.client.raw import RawResponse

app = App()

STDERR, STDOUT = "stderr", "stdout"
_FEED_PATHS = ("/api/v1/events", "/api/v1/gate-responses", "/api/v1/activity")
_CREATE_PATHS = ("/api/v1/files", "/api/v1/files/import", "/api/v1/files/claim")
_TEXT_TYPES = ("text/", "json", "xml", "yaml", "javascript", "x-www-form-urlencoded")
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

    A path is relative to /api/v1, unless it begins with /api/, /oauth/ or /.well-known/, or is /oembed or /healthz. A
    URL must belong to the current server, because the credential is sent nowhere else. Fields of GET and DELETE
    requests are added to the query. Fields of other methods form a JSON object, in which dots create nested objects;
    with --input or --form they are added to the query. --form without a file sends a URL-encoded form; K=<FILE reads
    the value from a file.

    Passwords and tokens must come from files: -F password=@pw.txt

    On a terminal, JSON is pretty-printed and binary data is rejected. --query, --fields, --template and --format apply
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
            _print_feed(ctx, client, request)
            return ExitCode.OK
        try:
            answer = _send(client, request, held)
        except Refused as refusal:
            if _may_be_file_limit(refusal, request):
                from docshare.cli.commands.upload.file_limit import is_at_file_limit

                refusal.is_at_file_limit = is_at_file_limit(client)
            _print_refusal(ctx, refusal, include, error_body)
            raise
        if include:
            _print_head(ctx, answer.status, answer.headers)
        if output in (None, "-"):
            _write_response(ctx, answer)
        else:
            from docshare.cli.commands.api.save import save_response

            save_response(ctx, answer, Path(output))
    return ExitCode.OK


def _send(client: "Client", request: "ApiRequest", held: ExitStack) -> "RawResponse":
    return client.raw.request(
        request.method, request.path, params=request.params, body=request.open_body(held), headers=request.headers
    )


def _may_be_file_limit(refusal: Refused, request: "ApiRequest") -> bool:
    return refusal.code == "forbidden" and request.method == "POST" and request.path in _CREATE_PATHS


# --- feeds -----------------------------------------------------------------------------------------------------------


def _require_feed(request: "ApiRequest") -> None:
    if request.method != "GET" or request.path not in _FEED_PATHS:
        raise Stop(ExitCode.USAGE, "--paginate works only with /events, /gate-responses and /activity")
    since = str(request.params.get("since", 0))
    if "limit" in request.params or not (since.isascii() and since.isdigit()):
        raise Stop(ExitCode.USAGE, "--paginate and limit cannot be used together, and since must be an id")


def _print_feed(ctx: Context, client: "Client", request: "ApiRequest") -> None:
    """Print the rows of a feed, oldest first: as one JSON array, unless an option selects another format."""
    params = {key: str(value) for key, value in request.params.items() if key != "since"}
    rows = client.raw.rows_after(request.path.removeprefix("/api/v1"), int(request.params.get("since", 0)), params)
    if ctx.options.format == "jsonl":
        printer = ctx.emitter(_SPEC)
        for row in rows:
            printer.emit_row(row)
    else:
        _print_json(ctx, list(rows))


# --- responses -------------------------------------------------------------------------------------------------------


def _write_response(ctx: Context, answer: "RawResponse") -> None:
    kind = _find_header(answer.headers, "content-type").lower()
    if _is_reshaped(ctx):
        _print_json(ctx, _parse_json(b"".join(answer.blocks), kind))
    elif ctx.stdout_tty:
        _print_text(ctx, b"".join(answer.blocks), kind)
    else:
        for block in answer.blocks:
            ctx.write(block)


def _is_reshaped(ctx: Context) -> bool:
    """Return whether an option of this command reshapes the body; the configured format does not count."""
    asked = ctx.options
    return asked.format not in (None, "json") or any((asked.query, asked.fields, asked.template))


def _parse_json(body: bytes, kind: str) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        what = kind.partition(";")[0] or "unknown type"
        raise Stop(ExitCode.USAGE, f"the response is not JSON ({clean(what)}), so it cannot be reshaped") from None


def _print_json(ctx: Context, value: Any) -> None:
    if _is_reshaped(ctx):
        ctx.emit(value, _SPEC)
    else:
        ascii_only = ctx.stdout_tty or not ctx.out_screen.unicode
        ctx.print(format_json(value, ascii_only=ascii_only, pretty=ctx.stdout_tty))


def _print_text(ctx: Context, body: bytes, kind: str) -> None:
    """Print a body on a terminal: pretty-printed JSON, or other text without control characters."""
    if not body:
        return
    if not _is_text(kind):
        what = kind.partition(";")[0] or "data of unknown type"
        hint = "Redirect stdout, or write to a file with -o."
        raise Stop(ExitCode.USAGE, f"refusing to write {clean(what)} to a terminal", hint=hint)
    if "json" in kind:
        try:
            _print_json(ctx, _parse_json(body, kind))
            return
        except Stop:  # the Content-Type says JSON, but the body is not
            pass
    ctx.print(clean(body.decode("utf-8", "replace"), multiline=True).removesuffix("\n"))


def _is_text(kind: str) -> bool:
    return any(word in kind for word in _TEXT_TYPES)


# --- status, headers, errors -----------------------------------------------------------------------------------------


def _print_head(ctx: Context, status: int, headers: Mapping[str, str]) -> None:
    for line in _render_head(status, headers):
        ctx.err(line)
    ctx.err("")


def _render_head(status: int, headers: Mapping[str, str]) -> Iterator[str]:
    from http import HTTPStatus

    known = {each.value: each.phrase for each in HTTPStatus}
    yield f"HTTP {status} {known.get(status, '')}".rstrip()
    for key, value in headers.items():
        yield f"{key}: {'***' if is_secret_name(key) else value}"


def _print_refusal(ctx: Context, refusal: Refused, include: bool, place: str) -> None:
    """Print an error response unchanged. The caller then reports the error as for every command."""
    if include:
        _print_head(ctx, refusal.status, refusal.headers)
    kind = _find_header(refusal.headers, "content-type").lower()
    if place == STDOUT:
        if ctx.stdout_tty:
            _print_text(ctx, refusal.body, kind)
        else:
            ctx.write(refusal.body)
    # With JSON output, stderr has a single line about the error.
    elif refusal.body and _is_text(kind) and not is_json_wanted(ctx):
        text = ctx.redact(refusal.body.decode("utf-8", "replace")).removesuffix("\n")
        ctx.err_raw((clean(text, multiline=True) if ctx.stderr_tty else text) + "\n")


def _find_header(headers: Mapping[str, str], name: str) -> str:
    """Return the value of a header, ignoring case, or an empty string."""
    return next((value for key, value in headers.items() if key.lower() == name), "")
