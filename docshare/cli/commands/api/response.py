"""Print the response of ``docshare api``, or save its body in a file."""

import json
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.files.save import store
from docshare.cli.framework.clients import is_secret_name
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.failures import is_json_wanted
from docshare.cli.terminal.output import Spec, format_json
from docshare.cli.terminal.text import clean
from docshare.client.errors import Refused
from docshare.client.files import DownloadedContent

if TYPE_CHECKING:
    from docshare.cli.commands.api.request import ApiRequest
    from docshare.client import Client
    from docshare.client.raw import RawResponse

_TEXT_TYPES = ("text/", "json", "xml", "yaml", "javascript", "x-www-form-urlencoded")
_SPEC = Spec()


def print_feed(ctx: Context, client: "Client", request: "ApiRequest") -> None:
    """Print the rows of a feed, oldest first: as one JSON array, unless an option selects another format."""
    params = {key: str(value) for key, value in request.params.items() if key != "since"}
    rows = client.raw.rows_after(request.path.removeprefix("/api/v1"), int(request.params.get("since", 0)), params)
    if ctx.options.format == "jsonl":
        printer = ctx.emitter(_SPEC)
        for row in rows:
            printer.emit_row(row)
    else:
        _print_json(ctx, list(rows))


def write_response(ctx: Context, answer: "RawResponse") -> None:
    """Write the body to standard output. Raise Stop (2) for binary data on a terminal."""
    kind = _find_header(answer.headers, "content-type").lower()
    if _is_reshaped(ctx):
        _print_json(ctx, _parse_json(b"".join(answer.blocks), kind))
    elif ctx.stdout_tty:
        _print_text(ctx, b"".join(answer.blocks), kind)
    else:
        for block in answer.blocks:
            ctx.write(block)


def save_response(ctx: Context, answer: "RawResponse", path: Path) -> None:
    """Write the body to ``path``, completely or not at all."""
    headers = {key.lower(): value for key, value in answer.headers.items()}
    length = headers.get("content-length", "")
    known = int(length) if length.isdigit() and not headers.get("content-encoding") else None
    store(ctx, DownloadedContent(answer.blocks, path.name, known, headers.get("content-type", "").lower()), path)


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


def print_head(ctx: Context, status: int, headers: Mapping[str, str]) -> None:
    """Print status and headers on stderr, without secrets."""
    for line in _render_head(status, headers):
        ctx.err(line)
    ctx.err("")


def _render_head(status: int, headers: Mapping[str, str]) -> Iterator[str]:
    known = {each.value: each.phrase for each in HTTPStatus}
    yield f"HTTP {status} {known.get(status, '')}".rstrip()
    for key, value in headers.items():
        yield f"{key}: {'***' if is_secret_name(key) else value}"


def print_refusal(ctx: Context, refusal: Refused, *, include: bool, on_stdout: bool) -> None:
    """Print the body of an error response unchanged, with ``include`` its head.

    The caller then reports the error as for every command.
    """
    if include:
        print_head(ctx, refusal.status, refusal.headers)
    kind = _find_header(refusal.headers, "content-type").lower()
    if on_stdout:
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
