"""The options of ``webhooks listen``."""

from pathlib import Path
from typing import Annotated

import typer

from docshare.cli.framework.arguments import FILE_HELP
from docshare.cli.framework.durations import duration_option
from docshare.cli.framework.option_groups import OptionGroup


class ListenOptions(OptionGroup):
    """Where deliveries come from, what becomes of them, and when it ends. Times as they were typed."""

    forward_to: Annotated[
        list[str] | None, typer.Option("--forward-to", metavar="URL", help="Post each delivery there. Repeatable.")
    ] = None
    events: Annotated[
        str | None, typer.Option("--events", metavar="KIND", help="Only these kinds, several with commas.")
    ] = None
    file: Annotated[str | None, typer.Option("--file", metavar="FILE", help=f"Only this file: {FILE_HELP}")] = None
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="Listen to the server with this data directory.")
    ] = None
    public_url: Annotated[
        str | None, typer.Option("--public-url", metavar="URL", help="Your tunnel: it must lead to --port here.")
    ] = None
    bridge: Annotated[bool, typer.Option("--bridge", help="Read the feed of the server; nothing comes in.")] = False
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="Receive here; 0 takes a free port.")] = 0
    save: Annotated[
        Path | None, typer.Option("--save", metavar="F", help="Append each delivery as a JSON line, for replay.")
    ] = None
    print_secret: Annotated[
        bool, typer.Option("--print-secret", help="Print the secret alone; deliveries go to stderr.")
    ] = False
    secret_file: Annotated[
        str | None, typer.Option("--secret-file", metavar="F", help="Sign with the secret in this file; '-' is stdin.")
    ] = None
    show_response: Annotated[bool, typer.Option("--show-response", help="Show what your program answered.")] = False
    forward_timeout: Annotated[str, duration_option("Wait this long for your program.")] = "10s"
    insecure_forward: Annotated[
        bool, typer.Option("--insecure-forward", help="Take any certificate of your program.")
    ] = False
    test: Annotated[bool, typer.Option("--test", help="First have a webhook.test sent through all of it.")] = False
    exit_after: Annotated[int | None, typer.Option(min=1, metavar="N", help="End after N deliveries.")] = None
    timeout: Annotated[str | None, duration_option("End after this time: code 124 if --exit-after is unmet.")] = None
    latency: Annotated[str, duration_option("Play a slow receiver: wait before each answer.")] = "0s"
    fail_rate: Annotated[
        float | None, typer.Option(min=0, max=1, metavar="SHARE", help="Play a bad receiver: refuse this share.")
    ] = None
    status: Annotated[
        int | None, typer.Option(min=200, max=599, metavar="N", help="With this status (500); alone: refuse all.")
    ] = None
    cursor: Annotated[str, typer.Option("--cursor", metavar="NAME", help="With --bridge: keep the place here.")] = ""
    start: Annotated[str | None, typer.Option("--from", metavar="start|now|ID", help="With --bridge: begin here.")] = (
        None
    )
    reset: Annotated[bool, typer.Option("--reset", help="With --bridge: forget what the cursor says.")] = False
    skip_failed: Annotated[
        bool, typer.Option("--skip-failed", help="With --bridge: go on past what no program took.")
    ] = False
    interval: Annotated[str, duration_option("With --bridge: poll this often; slower while quiet.")] = "2s"
    heartbeat: Annotated[str, duration_option("A sign of life on stderr when that is no terminal; 0 for none.")] = "60s"
    give_up_after: Annotated[str, duration_option("End with code 11 after failing for so long.")] = "10m"
