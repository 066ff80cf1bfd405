"""``docshare upload``: the command. What it does stands in ``upload_sending``, which loads when it runs."""

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
    paths: Annotated[list[str] | None, typer.Argument(metavar="PATH...", help="Files to share; '-' is stdin.")] = None,
    *,
    given: UploadOptions,
) -> ExitCode:
    """Share documents: upload them and print their links.

    A pipe gets exactly one line per file, its link, in the order of the input. A file that fails has no line: its
    reason is on stderr and the exit code is 12 if others went through. --json prints one object for one path and an
    array for many; --format jsonl prints each as it is done; --format plain prints path, link and status.

    PDFs are stored as they are; Word (.docx) and PowerPoint files are converted by the server.

    Settings are written right after each upload. If that fails, the file stays, its link is not printed, the exit code
    is 12 and stderr has the line that sets them; with --rollback the file is deleted instead.

    With --variants-csv a pipe gets a line with label and link for each recipient, below that of the file. Its rows are
    checked first, but for page numbers beyond the end of the document, which is known only then.

    With --manifest a second run sends only what is new or changed; with --update as well, a changed document becomes
    the next version of the file it was shared as, behind the same link, and hotspots, notes, marks and annotations on
    its pages are cleared. Settings go to new files only.

    With --lint each PDF is looked into first; if one has a warning or an error, nothing at all is sent and the exit
    code is 13. What is found goes to stderr. --fail-on and --ignore choose what counts. See: docshare lint --help.

    Examples:

      docshare upload deck.pdf
      docshare upload deck.pdf --password-file secret.txt --expires 7d --no-download
      url=$(docshare upload deck.pdf)
      docshare upload -r reports --manifest shared.jsonl --update --jobs 4
      make-pdf | docshare upload - --name report.pdf
    """
    from docshare.cli.commands.upload.run import run_upload

    return run_upload(current_context(), paths or (), given)
