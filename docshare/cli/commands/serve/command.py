"""``docshare serve``: run the bundled server, and optionally share files or run a command against it."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from docshare.cli.commands.serve import address as listen
from docshare.cli.framework.app import App, TyperCommand
from docshare.cli.framework.context import current_context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.options import parse_directory


class ServeCommand(TyperCommand):
    """Takes everything after ``--exec`` as the command to run, including options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments with the rest of the line as the value of ``--exec``."""
        if "--exec" in args:
            place = args.index("--exec")
            args = [*args[:place], "--exec", shlex.join(args[place + 1 :])]
        return list(super().parse_args(ctx, args))


app = App("Run the bundled server.")


@app.command(cls=ServeCommand)
def serve(
    files: Annotated[list[Path] | None, typer.Argument(metavar="[FILE]...", help="Files to share.")] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Share the sample document of docshare.")] = False,
    host: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help=f"Address to listen on. The default is {listen.LOOPBACK_HOST}. [env: DOCSHARE_HOST]"
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help=f"Port to listen on; 0 selects a free port. The default is {listen.DEFAULT_PORT}. "
            "[env: DOCSHARE_PORT]",
            min=0,
            max=listen.MAX_PORT,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", parser=parse_directory, help="Data directory. [env: DOCSHARE_DATA_DIR]"),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Public base URL of links. [env: DOCSHARE_BASE_URL]")
    ] = None,
    tier: Annotated[
        str, typer.Option(metavar="PLAN", help="Plan of the owner on the first run: free, basic, or pro.")
    ] = "pro",
    owner: Annotated[
        str | None,
        typer.Option(metavar="EMAIL", help="Email address of the owner, until one is set. [env: DOCSHARE_OWNER]"),
    ] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the first link in the browser.")] = False,
    ephemeral: Annotated[bool, typer.Option(help="Use a temporary data directory.")] = False,
    exec_command: Annotated[
        str | None, typer.Option("--exec", metavar="CMD...", help="Run CMD (the rest of the line) and exit with it.")
    ] = None,
    dev: Annotated[bool, typer.Option(help="Development mode: allow webhooks to this machine.")] = False,
    log: Annotated[str, typer.Option(metavar="FORMAT", help="Format of the log on stderr: text or json.")] = "text",
    threads: Annotated[int | None, typer.Option(metavar="N", help="Worker threads. [env: DOCSHARE_THREADS]")] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Processes, on PostgreSQL. [env: DOCSHARE_WORKERS]")
    ] = None,
    public_docs: Annotated[
        bool, typer.Option("--public-docs", help="Show the manual at /docs to everybody. [env: DOCSHARE_PUBLIC_DOCS]")
    ] = False,
    ready_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the base URL to FILE once the server is ready.")
    ] = None,
    print_env: Annotated[bool, typer.Option(help="Print export lines instead of the base URL.")] = False,
) -> None:
    """Run the bundled server.

    The first run creates the data directory, an owner account with an API key, and the profile "local". With --data,
    no profile is changed; instead, the key is printed once, with the command that stores it in a new profile. When the
    server is ready, it prints exactly one line on standard output, its base URL. With FILE, one link per file follows,
    and then one line per reader. On Ctrl-C or SIGTERM, the server finishes running requests and exits.

    With --workers, several processes answer on the port; one that ends is replaced, and SIGHUP replaces them one by
    one. They need a PostgreSQL database: see docshare help config.

    Examples:

      docshare serve
      docshare serve report.pdf
      docshare serve --demo --open
      docshare serve --ephemeral --port 0 --exec pytest -q
    """
    from docshare.cli.commands.serve import run
    from docshare.cli.commands.serve.startup import ServeOptions

    ctx = current_context()
    if log not in ("text", "json"):
        raise Stop(ExitCode.USAGE, f"--log must be text or json, not '{log}'")
    if tier not in ("free", "basic", "pro"):
        raise Stop(ExitCode.USAGE, f"--tier must be free, basic, or pro, not '{tier}'")
    if exec_command is not None and not exec_command.strip():
        raise Stop(ExitCode.USAGE, "--exec requires a command", hint="Example: --ephemeral --exec pytest -q")
    if ephemeral and data is not None:
        raise Stop(ExitCode.USAGE, "--ephemeral and --data cannot be used together", hint="Omit --data.")
    plan = ServeOptions(
        files=run.check_files(files or [], demo),
        host=listen.choose_host(host, ctx.env),
        port=listen.choose_port(port, ctx.env),
        settings={
            "data_dir": data,
            "base_url": base_url,
            "threads": threads,
            "workers": workers,
            "owner": owner,
            "public_docs": public_docs or None,
        },
        tier=tier,
        open_page=open_page,
        ephemeral=ephemeral,
        command=tuple(shlex.split(exec_command or "")),
        dev=dev,
        log=log,
        ready_file=ready_file,
        print_env=print_env,
    )
    raise typer.Exit(run.run_serve(ctx, plan))
