"""``docshare webhooks sign`` and ``verify``: help develop a receiver, without any request."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from docshare.cli.framework.app import App
from docshare.cli.framework.connection import keep_secret
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import STDIN, read_bytes, read_text
from docshare.cli.framework.options import duration_option
from docshare.cli.terminal.output import Spec
from docshare.cli.terminal.text import clean, parse_duration
from docshare.contract.signing import REPLAY_WINDOW_MS, sign
from docshare.contract.webhooks import SIGNATURE_HEADER
from docshare.contract.wire import parse_instant

app = App()

Row = Mapping[str, Any]

_NOW = "now"
_EPOCH_SECONDS = re.compile("[0-9]{1,11}", re.ASCII)  # a time in milliseconds has more digits
_HEADER_NAME = re.compile("[A-Za-z0-9!#$%&'*+.^_`|~-]+", re.ASCII)


SIGN_SPEC = Spec(plain=("line",), fields=("header", "value", "t", "v1"))


def _render_row(row: Row, context: Context) -> Iterator[str]:
    role = "ok" if row["genuine"] else "error"
    yield context.out_screen.paint(role, clean(f"{row['verdict']}: {row['detail']}"))
    if row["mistake"]:
        yield context.out_screen.paint("warn", clean(row["mistake"]))


VERIFY_SPEC = Spec(
    plain=("verdict", "detail", "mistake"),
    fields=("genuine", "signedAt", "ageSeconds"),
    id="verdict",
    human=_render_row,
)

_SecretFileOption = Annotated[
    str | None,
    typer.Option("--secret-file", metavar="F", help="File with the webhook's secret, whsec_...; '-' is stdin."),
]
_HeaderNameOption = Annotated[str, typer.Option("--header-name", metavar="NAME", help="Name of the signature header.")]
_BODY_HELP = "File with the raw body; '-' is stdin."


@app.command("sign", spec=SIGN_SPEC)
def sign_body(
    body: Annotated[str, typer.Argument(metavar="BODY", help=_BODY_HELP)],
    secret_file: _SecretFileOption = None,
    at: Annotated[
        str, typer.Option("--at", metavar="T", help="Signing time: now, seconds since 1970, or RFC 3339.")
    ] = _NOW,
    header_name: _HeaderNameOption = SIGNATURE_HEADER,
) -> None:
    """Sign a body like the server and print the header line.

    The exact bytes of the file are signed, including a final newline, so send the file with curl --data-binary. One
    newline at the end of the secret file is ignored.

    Examples:

      docshare webhooks sign body.json --secret-file secret.txt
      curl -H "$(docshare webhooks sign body.json --secret-file secret.txt)" --data-binary @body.json $URL
    """
    ctx = current_context()
    secret, header = read_secret(ctx, secret_file, also=body), validate_header_name(header_name)
    value = sign(secret, read_bytes(ctx, body, "BODY"), _parse_time(ctx, at, "--at"))
    t, v1 = (part.partition("=")[2] for part in value.split(","))
    row = {"line": f"{header}: {value}", "header": header, "value": value, "t": int(t), "v1": v1}
    if ctx.emitter(SIGN_SPEC).is_for_people:
        ctx.print(str(row["line"]))
    else:
        ctx.emit(row, SIGN_SPEC)


@app.command("verify", spec=VERIFY_SPEC)
def verify_body(
    body: Annotated[str | None, typer.Argument(metavar="[BODY]", help=_BODY_HELP)] = None,
    secret_file: _SecretFileOption = None,
    signature: Annotated[
        str | None, typer.Option("--signature", metavar="TEXT", help="Value of the signature header: t=...,v1=...")
    ] = None,
    request: Annotated[
        str | None, typer.Option("--request", metavar="F", help="File with a whole HTTP request; '-' is stdin.")
    ] = None,
    header_name: _HeaderNameOption = SIGNATURE_HEADER,
    tolerance: Annotated[
        str, duration_option("Maximum difference from the signing time.")
    ] = f"{REPLAY_WINDOW_MS // 1000}s",
    at: Annotated[
        str, typer.Option("--at", metavar="T", help="Time of receipt: now, seconds since 1970, or RFC 3339.")
    ] = _NOW,
) -> ExitCode:
    """Verify the signature of a delivery and explain mismatches.

    The exit code is 13 if the signature is malformed, a mismatch, stale, or from the future. For a mismatch, common
    mistakes are tried, alone and in pairs: an added or missing newline, changed line ends, JSON that a framework
    serialized again, the key without whsec_ or hex-decoded, quotes in the secret file, the body signed without t.

    Pass the body and --signature, or a saved request with headers and body. Piped output has one line per field, with
    name and value.

    Examples:

      docshare webhooks verify body.json --secret-file secret.txt --signature 't=1700000000,v1=...'
      docshare webhooks verify --request request.http --secret-file secret.txt --at 1700000012
    """
    from docshare.cli.commands.webhooks import verify

    ctx = current_context()
    printer = ctx.emitter(VERIFY_SPEC)
    secret = read_secret(ctx, secret_file, also=request or body)
    now, window = _parse_time(ctx, at, "--at"), int(parse_duration(tolerance) * 1000)
    if request is not None:
        if body is not None or signature is not None:
            raise Stop(ExitCode.USAGE, "--request cannot be used together with BODY or --signature")
        from docshare.cli.commands.webhooks.raw_request import examine_request

        found = examine_request(ctx, secret, request, validate_header_name(header_name), (now, window))
    elif body is None or signature is None:
        raise Stop(ExitCode.USAGE, "BODY and --signature, or --request, are required")
    else:
        found = verify.examine(secret, read_bytes(ctx, body, "BODY"), signature, now, window)
    printer.emit(verify.build_row(found))
    return ExitCode.OK if found.verdict else ExitCode.CHECK_FAILED


def read_secret(ctx: Context, source: str | None, *, also: str | None = None) -> str:
    """Return the secret in a file (``-``: stdin) without a final newline, and redact it from all later messages.

    ``also`` is another source that may be stdin. Raise Stop (2) if there is no secret.
    """
    if source is None:
        raise Stop(
            ExitCode.USAGE,
            "--secret-file is required",
            hint="Command-line arguments are visible to other users of this machine.",
        )
    if source == also == STDIN:
        raise Stop(ExitCode.USAGE, "only one value can come from stdin")
    # Exactly as receivers read it: verify recognizes a byte order mark as a mistake.
    secret = read_text(ctx, source, "--secret-file", keeps_mark=True).removesuffix("\n").removesuffix("\r")
    if not secret.strip():
        raise Stop(ExitCode.USAGE, f"--secret-file: {source} is empty", code="local_file")
    return keep_secret(ctx, secret)


def validate_header_name(header: str) -> str:
    """Return ``header``. Raise Stop (2) if it is not a valid header name."""
    if _HEADER_NAME.fullmatch(header) is None:
        raise Stop(ExitCode.USAGE, f"--header-name: {header!r} is not a valid header name")
    return header


def _parse_time(ctx: Context, text: str, option: str) -> int:
    """Parse ``now``, seconds since 1970 or an RFC 3339 time to milliseconds. Raise Stop (2) for anything else."""
    if text == _NOW:
        return ctx.now()
    found = int(text) * 1000 if _EPOCH_SECONDS.fullmatch(text) else parse_instant(text)
    if found is None or found < 0:
        hint = "Use now, 1700000000 (seconds), or 2026-11-21T09:00:00Z."
        raise Stop(ExitCode.USAGE, f"{option}: {text!r} is not a time", hint=hint)
    return found
