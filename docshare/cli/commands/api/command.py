"""``docshare api``: any request to the server in effect, for what has no command of its own."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.framework.app import App
from docshare.cli.framework.connection import is_secret_name, make_anonymous_client
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.dry_run import DryRunSend
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal.output import Spec, format_json
from docshare.cli.terminal.text import clean
from docshare.client.errors import Refused

if TYPE_CHECKING:
    from docshare.cli.commands.api.request import ApiRequest
    from docshare.client import Client
    from docshare.client.raw import Answer

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
    path: Annotated[str, typer.Argument(metavar="ADDRESS", help="A path of the API such as /files, or a URL.")],
    texts: Annotated[
        list[str] | None, typer.Option("--raw-field", "-f", metavar="K=V", help="A field whose value is a text.")
    ] = None,
    typed: Annotated[
        list[str] | None,
        typer.Option("--field", "-F", metavar="K=V", help="The same; true, null, 3 and @FILE are read. K:=JSON too."),
    ] = None,
    source: Annotated[
        str | None, typer.Option("--input", metavar="F", help="The body as it is, JSON unless -H says; '-' is stdin.")
    ] = None,
    form: Annotated[
        list[str] | None, typer.Option("--form", metavar="K=V", help="A part of a form; K=@FILE sends a file.")
    ] = None,
    headers: Annotated[
        list[str] | None, typer.Option("-H", metavar="'K: V'", help="A header; 'K: @FILE' reads it.")
    ] = None,
    include: Annotated[bool, typer.Option("--include", "-i", help="Show status and headers on stderr.")] = False,
    output: Annotated[str | None, typer.Option("--output", "-o", metavar="F", help="Write the body to a file.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    paginate: Annotated[bool, typer.Option("--paginate", help="Walk a feed (/events, ...) to its end.")] = False,
    error_body: Annotated[
        str, typer.Option(metavar="stderr|stdout", callback=_check_error_body, help="Where the body of a refusal goes.")
    ] = STDERR,
    no_auth: Annotated[bool, typer.Option("--no-auth", help="Send no credential; any server will do.")] = False,
    dry_run: DryRunSend = False,
) -> ExitCode:
    """Send any request, and print the body of the answer as it came.

    A path is taken below /api/v1, unless it begins with /api/, /oauth/ or /.well-known/, or is /oembed or /healthz:
    those stand as they are. A URL must lie on the server in effect: the credential goes nowhere else. Fields of a GET
    or DELETE go into the query, those of other methods into a JSON object, where dots make objects inside it. With
    --input or --form they go into the query too. --form without a file sends what an HTML form sends, and K=<FILE takes
    the value from a file.

    Passwords and tokens are taken from files only: -F password=@pw.txt

    On a terminal JSON is laid out, and what is no text is refused. --query, --fields, --template and --format work on
    JSON. What the server refuses goes to stderr, stdout stays empty, and the exit code says why (docshare help
    exit-codes). A POST is not repeated once it may have arrived.

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
        from docshare.cli.framework import bulk

        return bulk.print_requests(ctx, [request.shown()])
    if output not in (None, "-") and Path(str(output)).exists() and not force:
        raise Stop(ExitCode.USAGE, f"{output} exists", hint="Give --force to overwrite it.")
    client = make_anonymous_client(ctx, request.base) if no_auth else ctx.client()
    with client, ExitStack() as held:
        if paginate:
            _print_feed(ctx, client, request)
            return ExitCode.OK
        try:
            answer = _send(client, request, held)
        except Refused as refusal:
            _print_refusal(ctx, refusal, include, error_body)
            raise
        if include:
            _print_head(ctx, answer.status, answer.headers)
        _write_response(ctx, answer, None if output == "-" else output)
    return ExitCode.OK


def _send(client: "Client", request: "ApiRequest", held: ExitStack) -> "Answer":
    try:
        return client.raw.request(
            request.method, request.path, params=request.params, body=request.body(held), headers=request.headers
        )
    except Refused as refusal:
        if refusal.code == "forbidden" and request.method == "POST" and request.path in _CREATE_PATHS:
            from docshare.cli.commands.upload.send import is_at_file_limit

            refusal.at_file_limit = is_at_file_limit(client)
        raise


# --- feeds -----------------------------------------------------------------------------------------------------------


def _require_feed(request: "ApiRequest") -> None:
    if request.method != "GET" or request.path not in _FEED_PATHS:
        raise Stop(ExitCode.USAGE, "--paginate walks the feeds /events, /gate-responses and /activity only")
    since = str(request.params.get("since", 0))
    if "limit" in request.params or not (since.isascii() and since.isdigit()):
        raise Stop(ExitCode.USAGE, "--paginate sets the limit itself; since is the id to begin after")


def _print_feed(ctx: Context, client: "Client", request: "ApiRequest") -> None:
    """The rows of a feed from the oldest to the newest, as one JSON array unless another shape was asked for."""
    params = {key: str(value) for key, value in request.params.items() if key != "since"}
    rows = client.raw.rows_after(request.path.removeprefix("/api/v1"), int(request.params.get("since", 0)), params)
    if ctx.options.format == "jsonl":
        printer = ctx.emitter(_SPEC)
        for row in rows:
            printer.row(row)
    else:
        _print_json(ctx, list(rows))


# --- the answer ------------------------------------------------------------------------------------------------------


def _write_response(ctx: Context, answer: "Answer", output: str | None) -> None:
    kind = _find_header(answer.headers, "content-type").lower()
    if output is not None:
        from docshare.cli.commands.files.download import store
        from docshare.client.files import Content

        length = _find_header(answer.headers, "content-length")
        encoded = bool(_find_header(answer.headers, "content-encoding"))
        known = int(length) if length.isdigit() and not encoded else None
        store(ctx, Content(answer.blocks, Path(output).name, known, kind), Path(output))
    elif _is_reshaped(ctx):
        _print_json(ctx, _parse_json(b"".join(answer.blocks), kind))
    elif ctx.stdout_tty:
        _print_text(ctx, b"".join(answer.blocks), kind)
    else:
        for block in answer.blocks:
            ctx.write(block)


def _is_reshaped(ctx: Context) -> bool:
    """Whether an option asks for something else than the body itself; what is set up for all commands does not."""
    asked = ctx.options
    return asked.format not in (None, "json") or any((asked.query, asked.fields, asked.template))


def _parse_json(body: bytes, kind: str) -> Any:
    import json

    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        what = kind.partition(";")[0] or "of no known type"
        raise Stop(ExitCode.USAGE, f"the answer is no JSON ({clean(what)}), so it cannot be reshaped") from None


def _print_json(ctx: Context, value: Any) -> None:
    if _is_reshaped(ctx):
        ctx.emit(value, _SPEC)
    else:
        ascii_only = ctx.stdout_tty or not ctx.out_screen.unicode
        ctx.print(format_json(value, ascii_only=ascii_only, pretty=ctx.stdout_tty))


def _print_text(ctx: Context, body: bytes, kind: str) -> None:
    """A body for a terminal: JSON laid out, other texts with nothing in them that could steer it."""
    if not body:
        return
    if not _is_text(kind):
        what = kind.partition(";")[0] or "data of no known type"
        hint = "Redirect stdout, or name a file with -o."
        raise Stop(ExitCode.USAGE, f"{clean(what)} is not for a terminal", hint=hint)
    if "json" in kind:
        try:
            _print_json(ctx, _parse_json(body, kind))
            return
        except Stop:  # it only says that it is JSON
            pass
    ctx.print(clean(body.decode("utf-8", "replace"), multiline=True).removesuffix("\n"))


def _is_text(kind: str) -> bool:
    return any(word in kind for word in _TEXT_TYPES)


# --- status, headers, refusals ---------------------------------------------------------------------------------------


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
    """Show a refusal as the server said it; what it means and the exit code follow as for every command."""
    from docshare.cli.framework.errors import is_json_wanted

    if include:
        _print_head(ctx, refusal.status, refusal.headers)
    kind = _find_header(refusal.headers, "content-type").lower()
    if place == STDOUT:
        if ctx.stdout_tty:
            _print_text(ctx, refusal.body, kind)
        else:
            ctx.write(refusal.body)
    elif refusal.body and _is_text(kind) and not is_json_wanted(ctx):  # as JSON, stderr is one line about the error
        text = ctx.redact(refusal.body.decode("utf-8", "replace")).removesuffix("\n")
        ctx.err_raw((clean(text, multiline=True) if ctx.stderr_tty else text) + "\n")


def _find_header(headers: Mapping[str, str], name: str) -> str:
    """The value of a header, whatever the case of its name; empty if there is none."""
    return next((value for key, value in headers.items() if key.lower() == name), "")
