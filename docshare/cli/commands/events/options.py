"""The options of ``events tail`` and ``gate tail``."""

from pathlib import Path
from typing import Annotated

import typer

from docshare.cli.commands.events import cursor_files
from docshare.cli.framework.arguments import FILE_HELP
from docshare.cli.framework.option_groups import OptionGroup
from docshare.cli.framework.options import duration_option


class TailOptions(OptionGroup):
    """Where a tail starts, what it does with each row, and when it ends. Times are unparsed."""

    file: Annotated[str | None, typer.Option("--file", metavar="FILE", help=f"Only this file: {FILE_HELP}")] = None
    backlog: Annotated[
        int | None,
        typer.Option(
            "--backlog",
            "-n",
            min=0,
            metavar="N",
            help="Print the last N rows first. The default is 10 on a terminal, else 0.",
        ),
    ] = None
    start: Annotated[
        str | None,
        typer.Option("--from", metavar="start|now|ID", help="Start here instead of at the saved cursor or now."),
    ] = None
    cursor: Annotated[
        str | None, typer.Option(metavar="NAME", help="Resume from this named cursor, and update it.")
    ] = None
    cursor_file: Annotated[
        Path | None, typer.Option(metavar="P", help="Resume from this cursor file, and update it.")
    ] = None
    no_cursor: Annotated[bool, typer.Option("--no-cursor", help="Do not save a cursor (the default).")] = False
    reset: Annotated[bool, typer.Option("--reset", help="Ignore the saved position of the cursor.")] = False
    once: Annotated[bool, typer.Option("--once", help="Print new rows and exit.")] = False
    count: Annotated[int | None, typer.Option(min=1, metavar="N", help="Exit after N rows.")] = None
    until_match: Annotated[
        str | None, typer.Option(metavar="EXPR", help="Exit after the first row that matches this JMESPath.")
    ] = None
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Exit at 18:30, on a date, or in 2h.")] = None
    timeout: Annotated[
        str | None, duration_option("Exit after this time; code 124 if --count or --until-match is unmet.")
    ] = None
    idle: Annotated[str | None, duration_option("Exit after this time without a row.")] = None
    interval: Annotated[
        str | None,
        duration_option("Time between polls; longer while idle. The default is 2s, or 4s for three streams."),
    ] = None
    overlap: Annotated[
        int,
        typer.Option(
            min=0, max=cursor_files.MAX_RECENT_IDS, metavar="K", help="Check the last K ids again for late rows."
        ),
    ] = 0
    execute: Annotated[
        str | None,
        typer.Option("--exec", metavar="CMD", help="Run this command for each row, passed as JSON on stdin."),
    ] = None
    exec_retries: Annotated[int, typer.Option(min=0, metavar="N", help="Retry a failed --exec up to N times.")] = 0
    heartbeat: Annotated[
        str, duration_option("Interval of heartbeat lines on stderr when it is not a terminal; 0 for none.")
    ] = "60s"
    give_up_after: Annotated[str, duration_option("Exit with code 11 after failing for this long.")] = "10m"
