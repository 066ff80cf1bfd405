"""The options of ``events tail`` and ``gate tail``."""

from pathlib import Path
from typing import Annotated

import typer

from docshare.cli.commands.events import cursor_files
from docshare.cli.framework.arguments import FILE_HELP
from docshare.cli.framework.durations import duration_option
from docshare.cli.framework.option_groups import OptionGroup


class TailOptions(OptionGroup):
    """Where a tail begins, what it does with each row, and when it ends. Times as they were typed."""

    file: Annotated[str | None, typer.Option("--file", metavar="FILE", help=f"Only this file: {FILE_HELP}")] = None
    backlog: Annotated[
        int | None,
        typer.Option("--backlog", "-n", min=0, metavar="N", help="First show the last N rows (10 on a terminal)."),
    ] = None
    start: Annotated[
        str | None, typer.Option("--from", metavar="start|now|ID", help="Begin here, not at the saved cursor or now.")
    ] = None
    cursor: Annotated[str | None, typer.Option(metavar="NAME", help="Go on where this cursor is, and keep it.")] = None
    cursor_file: Annotated[Path | None, typer.Option(metavar="P", help="The same with a file of yours.")] = None
    no_cursor: Annotated[bool, typer.Option("--no-cursor", help="Keep no cursor (the default).")] = False
    reset: Annotated[bool, typer.Option("--reset", help="Forget what the cursor says.")] = False
    once: Annotated[bool, typer.Option("--once", help="Show what is new and end.")] = False
    count: Annotated[int | None, typer.Option(min=1, metavar="N", help="End after N rows.")] = None
    until_match: Annotated[
        str | None, typer.Option(metavar="EXPR", help="End with the first row for which this JMESPath is true.")
    ] = None
    until: Annotated[str | None, typer.Option(metavar="TIME", help="End at 18:30, on a date, or in 2h.")] = None
    timeout: Annotated[
        str | None, duration_option("End after this time: code 124 if --count or --until-match is unmet.")
    ] = None
    idle: Annotated[str | None, duration_option("End after so long without a row.")] = None
    interval: Annotated[
        str | None, duration_option("Poll this often (2s; 4s for three streams); slower while quiet.")
    ] = None
    overlap: Annotated[
        int,
        typer.Option(
            min=0, max=cursor_files.MAX_RECENT_IDS, metavar="K", help="Read the last K ids again for late rows."
        ),
    ] = 0
    execute: Annotated[
        str | None, typer.Option("--exec", metavar="CMD", help="Run this for each row, with the row as JSON on stdin.")
    ] = None
    exec_retries: Annotated[int, typer.Option(min=0, metavar="N", help="Run it again up to N times if it fails.")] = 0
    heartbeat: Annotated[str, duration_option("A sign of life on stderr when that is no terminal; 0 for none.")] = "60s"
    give_up_after: Annotated[str, duration_option("End with code 11 after failing for so long.")] = "10m"
