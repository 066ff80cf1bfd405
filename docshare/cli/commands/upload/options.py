"""The options of ``docshare upload``."""

from pathlib import Path
from typing import Annotated

import typer

from docshare.cli.commands.settings.options import UploadSettings
from docshare.cli.commands.upload.rows import validate_print_field

MAX_JOBS = 4


class UploadOptions(UploadSettings):
    """The options of an upload: its inputs, the handling of earlier uploads, and the output."""

    name: Annotated[str | None, typer.Option(metavar="TEXT", help="Name shown to readers; required for '-'.")] = None
    files_from: Annotated[str | None, typer.Option(metavar="F", help="Read paths from a file; '-' is stdin.")] = None
    null: Annotated[bool, typer.Option("--null", "-0", help="With --files-from: paths end with NUL.")] = False
    recursive: Annotated[bool, typer.Option("--recursive", "-r", help="Upload the documents in directories.")] = False
    include: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB",
            help="With -r: file names to include. The default is PDF, Word, and PowerPoint files.",
        ),
    ] = None
    print_field: Annotated[
        str,
        typer.Option(
            "--print", metavar="url|id|uuid", callback=validate_print_field, help="Value to print per file on a pipe."
        ),
    ] = "url"
    manifest: Annotated[
        Path | None, typer.Option(metavar="F.jsonl", help="Record uploads here and skip recorded ones.")
    ] = None
    update: Annotated[
        bool, typer.Option("--update", help="[Pro] With --manifest: replace files that have changed.")
    ] = False
    skip_existing: Annotated[
        bool, typer.Option("--skip-existing", help="Skip files whose name and size the account already has.")
    ] = False
    jobs: Annotated[int, typer.Option(min=1, max=MAX_JOBS, metavar="N", help="Number of parallel uploads.")] = 1
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Stop after the first failure.")] = False
    check: Annotated[bool, typer.Option("--check/--no-check", help="Validate files before uploading.")] = True
    lint: Annotated[bool, typer.Option("--lint", help="Check PDFs first; upload nothing on a warning.")] = False
    fail_on: Annotated[
        str | None, typer.Option(metavar="error|warning|never", help="With --lint: lowest level that stops the upload.")
    ] = None
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="CHECK", help="With --lint: skip this check. Repeatable.")
    ] = None
    qr: Annotated[bool, typer.Option("--qr", help="Draw the QR code of the link.")] = False
    copy: Annotated[bool, typer.Option("--copy", help="Copy the link to the clipboard.")] = False
    open_: Annotated[bool, typer.Option("--open", help="Open the link in the browser.")] = False
    rollback: Annotated[bool, typer.Option("--rollback", help="Delete a new file if its settings or links fail.")] = (
        False
    )
    variants_csv: Annotated[
        str | None, typer.Option(metavar="F", help="[Pro] Create a link per row of a CSV file; '-' is stdin.")
    ] = None
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Print the requests without sending them.")] = False
