"""``docshare upload``: the command line. ``upload/run.py`` does the work and is imported when the command runs."""

from typing import Annotated

import typer

from docshare.cli.commands.upload.options import UploadOptions
from docshare.cli.commands.upload.rows import UPLOAD_SPEC
from docshare.cli.framework.app import App
from docshare.cli.framework.context import current_context
from docshare.cli.framework.exits import ExitCode
from docshare.cli.framework.option_groups import add_options

app = App()


@app.command("upload", spec=UPLOAD_SPEC)
@add_options(UploadOptions)
def upload(
    paths: Annotated[list[str] | None, typer.Argument(metavar="PATH...", help="Files to upload; '-' is stdin.")] = None,
    *,
    given: UploadOptions,
) -> ExitCode:
    """Upload documents and print their share links.

    On a pipe, prints one link per file, in the order of the arguments. A file that fails prints no line: the reason
    goes to stderr, and the exit code is 12 if other files succeeded. --json prints one object for one path and an array
    for several; --format jsonl prints each result as it finishes; --format plain prints path, link, and status.

    PDFs are stored unchanged; the server converts Word (.docx) and PowerPoint files to PDF.

    Settings are written right after each upload. If that fails, the file is kept, its link is not printed, the exit
    code is 12, and stderr shows the command that sets them; with --rollback the file is deleted instead.

    With --variants-csv a pipe gets a line with label and link for each recipient, after the line of the file. The rows
    are checked before the upload, except for page numbers, which need the uploaded document.

    With --manifest a second run uploads only new and changed files. With --update as well, a changed document replaces
    the content behind its existing link, which clears the hotspots, notes, marks, and annotations on its pages.
    Settings apply to new files only.

    With --lint each PDF is checked first; if one has a warning or an error, nothing is uploaded and the exit code is
    13. Findings go to stderr. --fail-on and --ignore choose what counts. See: docshare lint --help.

    Examples:

      docshare upload deck.pdf
      docshare upload deck.pdf --password-file secret.txt --expires 7d --no-download
      url=$(docshare upload deck.pdf)
      docshare upload -r reports --manifest shared.jsonl --update --jobs 4
      make-pdf | docshare upload - --name report.pdf
    """
    from docshare.cli.commands.upload.run import run_upload

    if not (given.qr or given.copy or given.open_):
        return run_upload(current_context(), paths or (), given)
    from docshare.cli.commands.upload.follow_up import present_links

    return run_upload(current_context(), paths or (), given, present_links)
