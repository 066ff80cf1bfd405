"""The options of ``docshare upload``."""

from pathlib import Path
from typing import Annotated

import typer

from docshare.cli.commands.settings.options import UploadSettings
from docshare.cli.commands.upload.rows import validate_print_field

MAX_JOBS = 4


class UploadOptions(UploadSettings):
    """What is sent, what happens to what was sent before, and what is told of it."""

    name: Annotated[str | None, typer.Option(metavar="TEXT", help="Name that readers see; needed with '-'.")] = None
    files_from: Annotated[str | None, typer.Option(metavar="F", help="Take paths from a file; '-' is stdin.")] = None
    null: Annotated[bool, typer.Option("--null", "-0", help="With --files-from: paths end with NUL.")] = False
    recursive: Annotated[bool, typer.Option("--recursive", "-r", help="Upload the documents in folders.")] = False
    include: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="With -r: names to take (PDF, Word, PowerPoint).")
    ] = None
    printed: Annotated[
        str,
        typer.Option(
            "--print", metavar="url|id|uuid", callback=validate_print_field, help="What a pipe gets per file."
        ),
    ] = "url"
    manifest: Annotated[
        Path | None, typer.Option(metavar="F.jsonl", help="Keep a ledger; skip what it says is done.")
    ] = None
    update: Annotated[
        bool, typer.Option("--update", help="[Pro] With --manifest: replace what has changed behind its old link.")
    ] = False
    skip_existing: Annotated[
        bool, typer.Option("--skip-existing", help="Skip what has the name and size of a file of the account.")
    ] = False
    jobs: Annotated[int, typer.Option(min=1, max=MAX_JOBS, metavar="N", help="Send so many at a time.")] = 1
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Begin nothing new after a failure.")] = False
    check: Annotated[bool, typer.Option("--check/--no-check", help="Look at the files before sending.")] = True
    lint: Annotated[
        bool, typer.Option("--lint", help="Look into PDFs first; send nothing if docshare lint warns of any.")
    ] = False
    fail_on: Annotated[
        str | None, typer.Option(metavar="error|warning|never", help="With --lint: send nothing from this level on.")
    ] = None
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="CHECK", help="With --lint: do not look for this; may be repeated.")
    ] = None
    qr: Annotated[bool, typer.Option("--qr", help="Draw the QR code of the link.")] = False
    copy: Annotated[bool, typer.Option("--copy", help="Copy the link to the clipboard.")] = False
    open_: Annotated[bool, typer.Option("--open", help="Open the link in the browser.")] = False
    rollback: Annotated[
        bool, typer.Option("--rollback", help="Delete a new file for good if its settings or links fail.")
    ] = False
    variants_csv: Annotated[
        str | None, typer.Option(metavar="F", help="[Pro] Make a link per row of this CSV file; '-' is stdin.")
    ] = None
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Say what would be sent; send nothing.")] = False
