"""The root of the command line: command registry, global options, and the error boundary around every command.

To add a command, write a module below ``docshare/cli/commands`` that holds ``app = App(help=...)``
(``framework.app.App``, also for groups inside groups) and registers functions with ``@app.command()``. An app with one
function and no callback is a command; any other app is a group. Add a ``Stub`` to ``REGISTRY`` with the module
(relative to ``docshare.cli.commands``) and a one-line summary, which must equal the first line of the command's help.

The docstring of a command is its help: the summary line, paragraphs, then ``Examples:`` and an indented block. A
command calls ``current_context()``, prints through the context, and returns None or an exit code. It fails by raising
``Stop``. Modules import requests, the server, imaging and similar packages inside functions only, which keeps startup
fast. For the same reason, the function of a command imports the module that does its work, if help does not need it;
that module has its imports at its top. A command that changes something takes ``--dry-run``
(``framework/dry_run.py``). Every command has a row in ``tests/cli/tree/command_table.py``, which the tests use to run
it.
"""

import gc
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import Annotated, Any, ClassVar

import typer

from docshare import version_line
from docshare.cli.framework import errors, signals
from docshare.cli.framework.app import App, LazyGroup, Stub, build_command, describe_defaults, hoist
from docshare.cli.framework.context import Context, HelpOutput, activate, current_context, make_system_context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.options import (
    COLOR_MODES,
    FORMATS,
    PROGRESS_MODES,
    GlobalOptions,
    duration_option,
    parse_early_options,
)
from docshare.cli.terminal.text import parse_duration

_SHARE, _WATCH, _SERVER, _SETUP = "Share", "Watch", "Server", "Set up and learn"

REGISTRY = (
    Stub("upload", "upload.command", _SHARE, "Upload documents and print their share links."),
    Stub("import", "imports", _SHARE, "Share a PDF that the server downloads, and print its link."),
    Stub("files", "files.group", _SHARE, "List, show, download, replace, delete, and restore files."),
    Stub("settings", "settings.group", _SHARE, "Show and change the settings of a file."),
    Stub("ls", "files.group", _SHARE, "List the files of the account.", inner="list"),
    Stub("show", "files.group", _SHARE, "Show one file.", inner="show"),
    Stub("rm", "files.group", _SHARE, "Delete files.", inner="delete"),
    Stub("download", "files.group", _SHARE, "Download the stored PDF of a file.", inner="download"),
    Stub("replace", "files.group", _SHARE, "Replace the document behind a link.", inner="replace"),
    Stub("claim", "claim", _SHARE, "Claim a file that was shared without an account."),
    Stub("variants", "variants.group", _SHARE, "Create, redact, and revoke links for single recipients."),
    Stub("invites", "invites", _SHARE, "Invite people by email, each with a personal link."),
    Stub("assets", "assets.group", _SHARE, "Add logos, backgrounds, and sounds to share pages."),
    Stub("design", "design", _SHARE, "Share designs of a design tool without an account."),
    Stub("qr", "qr", _SHARE, "Show or save the QR code of a share link."),
    Stub("push", "push.command", _SHARE, "Create or update a document under a stable link."),
    Stub("apply", "apply.command", _SHARE, "Apply a share.yaml: files, settings, links, webhooks."),
    Stub("lint", "lint.command", _SHARE, "Check PDFs for metadata and hidden content before sharing."),
    Stub("public", "public.group", _SHARE, "Commands that need no account."),
    Stub("open", "browse", _SHARE, "Open a share link in the browser."),
    Stub("events", "events.group", _WATCH, "See who viewed and downloaded, once or live."),
    Stub("gate", "gate", _WATCH, "See what readers entered into gate forms, once or live."),
    Stub("readership", "readership.group", _WATCH, "See who read a file, and how."),
    Stub("pending", "pending", _WATCH, "List recipients who have not read the document."),
    Stub("wait", "wait", _WATCH, "Wait until someone has read a file, and print the session."),
    Stub("explain", "explain.command", _WATCH, "Explain how a session was measured and classified."),
    Stub("webhooks", "webhooks.group", _WATCH, "Send events to your server or to Slack."),
    Stub("whoami", "whoami", _WATCH, "Show the account behind the credential."),
    Stub("serve", "serve.command", _SERVER, "Run the bundled server.", rest="--exec"),
    Stub("dashboard", "dashboard", _SERVER, "Open your pages in the browser: files, webhooks, account."),
    Stub("trigger", "trigger", _SERVER, "Cause an event on a server on this machine."),
    Stub("admin", "admin.group", _SERVER, "Manage the bundled server: accounts, keys, storage."),
    Stub("auth", "auth.group", _SETUP, "Log in and out, and show the active credential."),
    Stub("profile", "profile", _SETUP, "Manage servers and credentials by name."),
    Stub("config", "config.group", _SETUP, "Show, change, and explain the settings of the command line."),
    Stub("discover", "discover", _SETUP, "Show the version and endpoints of a server."),
    Stub("api", "api.command", _SETUP, "Send any request and print the response body."),
    Stub("doctor", "doctor.command", _SETUP, "Check this program, its settings, and the server."),
    Stub("completion", "completion", _SETUP, "Print or install the completion script of a shell."),
    Stub("help", "help.command", _SETUP, "Explain a topic or a command."),
)


# Words that new users try first, with the command to suggest.
_SUGGESTIONS = {
    "share": "upload", "send": "upload", "list": "ls", "delete": "rm", "remove": "rm", "undelete": "files restore",
    "stats": "readership", "report": "readership report", "revoke": "variants revoke", "login": "auth login",
    "logout": "auth logout", "status": "doctor", "backup": "admin backup", "restore": "files restore or admin restore",
    "start": "serve", "logs": "events tail", "version": "--version", "topics": "help",
}  # fmt: skip


class Root(LazyGroup):
    """The command ``docshare``."""

    stubs: ClassVar = {stub.name: stub for stub in REGISTRY}
    suggestions: ClassVar = _SUGGESTIONS

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands before the options: most users who ask for help look for a command."""
        self.format_commands(ctx, formatter)
        describe_defaults(self.params)
        rows = [param.get_help_record(ctx) for param in self.get_params(ctx)]
        with formatter.section("Global options"):
            formatter.write_dl([row for row in rows if row is not None])


app = App("Share documents as links and see who read them.", cls=Root)


def _make_choice_check(words: Sequence[str]) -> Any:
    def check(value: str | None) -> str | None:
        if value is not None and value not in words:
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(words)}.")
        return value

    return check


def _print_version(value: bool) -> None:
    if value:
        current_context().print(version_line())
        raise typer.Exit


@app.callback()
def root(
    profile: Annotated[str | None, typer.Option(metavar="PROFILE", help="Use this profile.")] = None,
    url: Annotated[str | None, typer.Option(metavar="URL", help="Use the server at this URL.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON with the keys of the API.")] = False,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            callback=_make_choice_check(FORMATS),
            help=f"Output format: {', '.join(FORMATS)}.",
        ),
    ] = None,
    fields: Annotated[str | None, typer.Option(metavar="A,B.C", help="Print these fields; '?' lists them.")] = None,
    query: Annotated[str | None, typer.Option(metavar="EXPR", help="Filter the JSON with JMESPath.")] = None,
    template: Annotated[str | None, typer.Option(metavar="TEXT", help="Print one line per row: '{shortId}'.")] = None,
    header: Annotated[bool | None, typer.Option("--header/--no-header", help="Print a header line.")] = None,
    raw_csv: Annotated[
        bool, typer.Option("--raw-csv", help="Do not escape CSV cells that look like formulas.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Suppress progress and notes.")] = False,
    verbose: Annotated[
        int, typer.Option("--verbose", "-v", count=True, show_default=False, help="Show requests; -vv headers.")
    ] = 0,
    color: Annotated[
        str | None,
        typer.Option(
            metavar="WHEN", callback=_make_choice_check(COLOR_MODES), help=f"Use color: {', '.join(COLOR_MODES)}."
        ),
    ] = None,
    no_color: Annotated[bool, typer.Option("--no-color", help="Same as --color=never.")] = False,
    progress: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            callback=_make_choice_check(PROGRESS_MODES),
            help=f"Show progress: {', '.join(PROGRESS_MODES)}.",
        ),
    ] = "auto",
    no_input: Annotated[bool, typer.Option("--no-input", help="Fail instead of prompting.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip confirmation prompts.")] = False,
    timeout: Annotated[str | None, duration_option("Time to wait for a response.")] = None,
    deadline: Annotated[str | None, duration_option("Time limit of the whole command.")] = None,
    retries: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Number of retries of a failed request.")
    ] = None,
    max_wait: Annotated[str | None, duration_option("Longest wait for a rate limit.")] = None,
    allow_http: Annotated[bool, typer.Option("--allow-http", help="Send the credential over plain HTTP.")] = False,
    ca_bundle: Annotated[
        str | None, typer.Option(metavar="FILE", help="Trust the CA certificates in this file.")
    ] = None,
    version: Annotated[  # noqa: ARG001 - the callback has already printed it
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and exit.")
    ] = False,
) -> None:
    """Share documents as links and see who read them."""
    if as_json and format_ not in (None, "json", "jsonl"):
        raise typer.BadParameter(f"--json and --format {format_} cannot be used together.")
    context = current_context()
    context.options = GlobalOptions(
        profile=profile,
        url=url,
        format=format_ or ("json" if as_json else None),
        fields=fields,
        query=query,
        template=template,
        header=header,
        raw_csv=raw_csv,
        quiet=quiet,
        verbose=verbose,
        color="never" if no_color else color,
        progress=progress,
        no_input=no_input,
        yes=yes,
        timeout=_parse_optional_duration(timeout),
        deadline=_parse_optional_duration(deadline),
        retries=retries,
        max_wait=_parse_optional_duration(max_wait),
        allow_http=allow_http,
        ca_bundle=ca_bundle,
    )
    signals.set_deadline(context.options.deadline)


def _parse_optional_duration(text: str | None) -> float | None:
    return None if text is None else parse_duration(text)


def main(argv: Sequence[str], context: Context | None = None) -> int:
    """Run one command line (without the program's name) and return its exit code.

    Only this function turns exceptions into exit codes and error messages.
    """
    alone = context is None
    context = context or make_system_context()
    with activate(context), signals.handle_signals(), redirect_stdout(HelpOutput(context)):  # help is printed by Typer
        try:
            code = _run(argv, context, alone)
            context.flush()
        except BaseException as error:  # noqa: BLE001 - no exception may leave the program as a traceback
            signals.set_deadline(0)  # it must not interrupt the report
            code = errors.report(context, error)
    return int(code)


def _run(argv: Sequence[str], context: Context, alone: bool) -> int:
    command = build_command(app)
    line = hoist(command, argv)
    if alone:
        # The objects of the loaded command stay: not looking through them saves 3 % of the instructions of help.
        gc.freeze()
        gc.enable()
    context.options, context.words = parse_early_options(line.global_options), line.rest
    with command.make_context("docshare", [*line.global_options, *line.rest]) as parsed:
        code = command.invoke(parsed)
    if code is ExitCode.DEADLINE:  # but not a 124 that a child program returned
        raise Stop(code, "timed out before the condition was met")
    return code or 0
