"""``docshare webhooks create``: validate the URL and the kinds, create the webhook, and show its secret once."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.commands.webhooks.rows import describe_kinds, describe_scope
from docshare.cli.commands.webhooks.test import describe_result
from docshare.cli.commands.webhooks.urls import check_format, check_url
from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FILE_HELP, FileResolver
from docshare.cli.framework.connection import keep_secret
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.dry_run import print_requests
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.options import split_words
from docshare.cli.local.secret_file import SecretFile, create_secret_file
from docshare.cli.terminal.output import Spec
from docshare.cli.terminal.text import clean
from docshare.contract.webhooks import DEFAULT_FORMAT, FORMATS, KINDS, TEST_KIND, WEBHOOK_KEYS

if TYPE_CHECKING:
    from docshare.client import Client

app = App()

Row = Mapping[str, Any]


def _render_row(row: Row, context: Context) -> Iterator[str]:
    screen, webhook = context.out_screen, row["webhook"]
    yield screen.paint("bold", clean(str(webhook.get("url"))))
    facts = (str(webhook["uuid"]), describe_kinds(webhook), describe_scope(webhook))
    yield screen.paint("dim", f" {screen.glyph('·')} ".join(clean(fact) for fact in facts if fact))
    if "secretFile" in row:
        yield f"secret saved to {clean(str(row['secretFile']))}"
    elif "secret" in row and webhook.get("format") == DEFAULT_FORMAT:  # messages to Slack are not signed
        yield f"secret: {screen.paint('id', clean(str(row['secret'])))}"
        yield screen.paint(
            "warn", "Store the secret now: it is not shown again, and your receiver needs it to verify signatures."
        )


CREATE_SPEC = Spec(
    plain=("webhook.uuid", "secret"),
    fields=("webhook", "secret", "secretFile", "recovered", *(f"webhook.{key}" for key in WEBHOOK_KEYS)),
    id="webhook.uuid",
    human=_render_row,
    once=("secret",),
)


def _validate_format(value: str | None) -> str | None:
    if value is not None and value not in FORMATS:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(FORMATS)}.")
    return value


@app.command("create", spec=CREATE_SPEC)
def create(
    url: Annotated[str, typer.Argument(metavar="URL", help="The https URL to send events to.")],
    events: Annotated[
        list[str] | None, typer.Option("--events", metavar="KIND", help="Kinds of events to send, comma-separated.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Send all nine kinds of events.")] = False,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="json|slack", callback=_validate_format, help="Signed JSON, or messages for Slack."
        ),
    ] = None,
    file: Annotated[str | None, typer.Option("--file", metavar="FILE", help=f"Only this file: {FILE_HELP}")] = None,
    secret_file: Annotated[
        Path | None,
        typer.Option("--secret-file", metavar="F", help="Write the secret to a new file instead of printing it."),
    ] = None,
    test: Annotated[bool, typer.Option("--test", help="Send a test event to the new webhook.")] = False,
    private: Annotated[bool, typer.Option("--private", help="Allow private addresses, if the server does.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Print the requests without sending them.")] = False,
) -> ExitCode:
    """Create a webhook that sends events to a URL.

    The server sends each event to URL as a POST request with a JSON body. The body is signed with a secret, which this
    command shows once; docshare help webhooks explains how to verify the signature. --format slack sends readable
    messages to a Slack incoming webhook.

    Piped output is the UUID and the secret, separated by a tab, or only the UUID with --secret-file. --json prints the
    API response; with --secret-file it has secretFile instead of secret. The exit code is 13 if the event of --test was
    not delivered; the webhook exists nevertheless.

    Examples:

      docshare webhooks create https://hooks.example.com/docshare --all --secret-file secret.txt
      docshare webhooks create https://hooks.example.com/d --events file.viewed,gate.completed --test
      docshare webhooks create https://hooks.slack.com/services/T0/B0/x --all --format slack --file @last
    """
    ctx = current_context()
    kinds = parse_kinds(events, everything=everything)
    check_url(ctx, url, private=private)
    check_format(url, format_)
    body = {"url": url, "events": kinds, "format": format_ or DEFAULT_FORMAT}
    with ExitStack() as held:
        client = held.enter_context(ctx.client())
        if file is not None:
            body["fileUuid"] = FileResolver(ctx, client).resolve(file)
        if dry_run:
            return _preview_request(ctx, body)
        kept = None if secret_file is None else held.enter_context(create_secret_file(secret_file))
        answer = _create_webhook(ctx, client, body, kept)
        _print_webhook(ctx, answer)
        return _send_test(ctx, client, str(answer["webhook"]["uuid"])) if test else ExitCode.OK


def parse_kinds(given: Sequence[str] | None, *, everything: bool) -> list[str]:
    """Return the kinds of ``--events`` or ``--all``. Raise Stop (2) for neither, both, or an unknown kind."""
    known = f"The kinds are {', '.join(KINDS)}."
    if everything and given:
        raise Stop(ExitCode.USAGE, "--events and --all cannot be used together")
    if everything:
        return list(KINDS)
    words = list(dict.fromkeys(filter(None, split_words(given))))
    if not words:
        raise Stop(ExitCode.USAGE, "--events or --all is required", hint=known)
    if TEST_KIND in words:
        raise Stop(ExitCode.USAGE, f"{TEST_KIND} cannot be subscribed to", hint="Send one with: docshare webhooks test")
    unknown = [word for word in words if word not in KINDS]
    if unknown:
        raise Stop(ExitCode.USAGE, f"unknown kind of event: {', '.join(unknown)}", hint=known)
    return words


def _preview_request(ctx: Context, body: Row) -> ExitCode:
    return print_requests(ctx, [("POST", "/api/v1/webhooks", json.dumps(body, ensure_ascii=False))])


def _create_webhook(ctx: Context, client: "Client", body: Row, kept: SecretFile | None) -> Mapping[str, Any]:
    """Create the webhook and return the response to print. With ``kept``, write the secret to that file instead."""
    answer = client.webhooks.create(body["url"], body["events"], body["format"], body.get("fileUuid"))
    secret = answer.get("secret")
    if not isinstance(secret, str):
        _check_secret_not_lost(answer, body)
        return answer
    keep_secret(ctx, secret)
    if kept is None:
        return answer
    try:
        kept.write(secret)
    except Stop:
        client.webhooks.delete(str(answer["webhook"]["uuid"]))  # its signatures could never be verified
        raise
    return {**{key: value for key, value in answer.items() if key != "secret"}, "secretFile": str(kept.path)}


def _check_secret_not_lost(answer: Row, body: Row) -> None:
    if body["format"] == DEFAULT_FORMAT:
        uuid = answer["webhook"]["uuid"]
        raise Stop(
            ExitCode.UNKNOWN_OUTCOME,
            f"webhook {uuid} was created, but the response with its secret was lost",
            hint=f"Run docshare webhooks delete {uuid}, and create the webhook again.",
        )


def _print_webhook(ctx: Context, answer: Row) -> None:
    printer = ctx.emitter(
        CREATE_SPEC._replace(plain=CREATE_SPEC.plain if "secret" in answer else CREATE_SPEC.plain[:1])
    )
    printing: Callable[[Row], None] = printer.emit if printer.format == "json" else printer.emit_row
    printing(answer)


def _send_test(ctx: Context, client: "Client", uuid: str) -> ExitCode:
    result = client.webhooks.test(uuid)
    ctx.err(f"test: {describe_result(result)}", "ok" if result.get("delivered") is True else "error")
    return ExitCode.OK if result.get("delivered") is True else ExitCode.CHECK_FAILED
