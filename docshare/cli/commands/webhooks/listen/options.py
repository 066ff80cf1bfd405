"""The options of ``webhooks listen``."""

from pathlib import Path
from typing import Annotated

import typer

from docshare.cli.framework.arguments import FILE_HELP
from docshare.cli.framework.option_groups import OptionGroup
from docshare.cli.framework.options import duration_option


class ListenOptions(OptionGroup):
    """Where deliveries come from, how they are handled, and when listening ends. Times are unparsed."""

    forward_to: Annotated[
        list[str] | None,
        typer.Option("--forward-to", metavar="URL", help="Forward each delivery to this URL. Repeatable."),
    ] = None
    events: Annotated[
        list[str] | None, typer.Option("--events", metavar="KIND", help="Only these kinds, comma-separated.")
    ] = None
    file: Annotated[str | None, typer.Option("--file", metavar="FILE", help=f"Only this file: {FILE_HELP}")] = None
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="Data directory of the local server to listen to.")
    ] = None
    public_url: Annotated[
        str | None, typer.Option("--public-url", metavar="URL", help="URL of your tunnel to --port on this machine.")
    ] = None
    bridge: Annotated[bool, typer.Option("--bridge", help="Read the feed of the server; needs no tunnel.")] = False
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="Port to listen on; 0 selects a free port.")
    ] = 0
    save: Annotated[
        Path | None, typer.Option("--save", metavar="F", help="Append each delivery to F as a JSON line, for replay.")
    ] = None
    print_secret: Annotated[
        bool, typer.Option("--print-secret", help="Print only the secret; deliveries go to stderr.")
    ] = False
    secret_file: Annotated[
        str | None, typer.Option("--secret-file", metavar="F", help="Sign with the secret in this file; '-' is stdin.")
    ] = None
    show_response: Annotated[bool, typer.Option("--show-response", help="Show the responses of your receiver.")] = False
    forward_timeout: Annotated[str, duration_option("Timeout for responses of your receiver.")] = "10s"
    insecure_forward: Annotated[
        bool, typer.Option("--insecure-forward", help="Accept any TLS certificate of your receiver.")
    ] = False
    test: Annotated[bool, typer.Option("--test", help="Send a webhook.test event first.")] = False
    exit_after: Annotated[int | None, typer.Option(min=1, metavar="N", help="Exit after N deliveries.")] = None
    timeout: Annotated[str | None, duration_option("Exit after this time; code 124 if --exit-after is unmet.")] = None
    latency: Annotated[str, duration_option("Delay each response (simulates a slow receiver).")] = "0s"
    fail_rate: Annotated[
        float | None, typer.Option(min=0, max=1, metavar="SHARE", help="Reject this share of deliveries, 0 to 1.")
    ] = None
    status: Annotated[
        int | None,
        typer.Option(
            min=200,
            max=599,
            metavar="N",
            help="Status of rejected deliveries; without --fail-rate, reject all. The default is 500.",
        ),
    ] = None
    cursor: Annotated[str, typer.Option("--cursor", metavar="NAME", help="With --bridge: name of the cursor.")] = ""
    start: Annotated[str | None, typer.Option("--from", metavar="start|now|ID", help="With --bridge: start here.")] = (
        None
    )
    reset: Annotated[bool, typer.Option("--reset", help="With --bridge: ignore the saved position.")] = False
    skip_failed: Annotated[
        bool, typer.Option("--skip-failed", help="With --bridge: skip events that every receiver rejected.")
    ] = False
    interval: Annotated[str, duration_option("With --bridge: time between polls; longer while idle.")] = "2s"
    heartbeat: Annotated[
        str, duration_option("Interval of heartbeat lines on stderr when it is not a terminal; 0 for none.")
    ] = "60s"
    give_up_after: Annotated[str, duration_option("Exit with code 11 after failing for this long.")] = "10m"
