"""``docshare apply``: make an account match a YAML file."""

from pathlib import Path
from typing import Annotated

import typer

from docshare.cli.commands.apply.output import ACTION_SPEC
from docshare.cli.framework.app import App
from docshare.cli.framework.context import current_context
from docshare.cli.framework.exits import ExitCode

app = App()


@app.command("apply", spec=ACTION_SPEC)
def apply(
    path: Annotated[Path, typer.Argument(metavar="F", help="The YAML file.")] = Path("share.yaml"),
    state: Annotated[
        Path | None, typer.Option(metavar="F", help="State file. The default is share.state.json next to share.yaml.")
    ] = None,
    prune: Annotated[bool, typer.Option("--prune", help="Remove resources that are no longer in the file.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit with code 13 if changes are due.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Print the changes without making them.")] = False,
) -> ExitCode:
    """Apply a share.yaml: files, settings, links, webhooks.

    Applying the same file again changes nothing. A file is matched by the state file, its uuid, its slug, or its name
    if only one file has it. A changed document is replaced behind the same link (requires the Pro plan). A setting that
    the YAML file does not name keeps its value, and null clears it. Variants are matched by label, and webhooks by URL,
    format, and file. A duration such as deleteAt: 30d counts from the first upload.

    Prompts before it replaces or removes anything; elsewhere than on a terminal --yes is required. --prune moves files
    to the trash, deletes variants and webhooks, and clears settings, but only those that the state file records from
    an earlier run. The first failure ends the run, with exit code 12 if something was changed before; run the same
    command again to continue.

    On a pipe, prints a line per action: action, kind, name, file, link. docshare help apply describes the YAML file.

    Examples:

      docshare apply --dry-run
      docshare apply site.yaml --prune --yes
      docshare apply --check || echo "share.yaml is not applied"
    """
    from docshare.cli.commands.apply.run import ApplyOptions, run_apply

    return run_apply(current_context(), path, ApplyOptions(state, prune=prune, check=check, dry_run=dry_run))
