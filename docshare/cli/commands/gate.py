"""``docshare gate``: the responses to gate forms, which also have a separate endpoint besides the events feed."""

from docshare.cli.commands.events.list import ListOptions, print_rows
from docshare.cli.commands.events.options import TailOptions
from docshare.cli.commands.events.rows import build_feed_spec
from docshare.cli.commands.events.selection import GATE_RESPONSES
from docshare.cli.framework.app import App
from docshare.cli.framework.exits import ExitCode
from docshare.cli.framework.option_groups import add_options

app = App("See what readers entered into gate forms, once or live.")


@app.command("list", spec=build_feed_spec(GATE_RESPONSES))
@add_options(ListOptions)
def list_responses(given: ListOptions) -> None:
    """List the responses to gate forms.

    [Pro] Newest first; with --since ID, oldest first. The rows are those of 'docshare events list --type gate'.

    Piped output is tab-separated: type, id, readAt, fileUuid, fileName, three empty columns, and fields as JSON.

    Examples:

      docshare gate list
      docshare gate list --file @last --all --query '[].fields.email' --format plain
    """
    print_rows(GATE_RESPONSES, given)


@app.command("tail", spec=build_feed_spec(GATE_RESPONSES))
@add_options(TailOptions)
def tail(given: TailOptions) -> ExitCode:
    """Follow the responses to gate forms as they arrive.

    [Pro] Rows, options, and cursors are those of 'docshare events tail --type gate'.

    Examples:

      docshare gate tail
      docshare gate tail --cursor crm --exec 'add-lead --stdin'
    """
    from docshare.cli.commands.events.tail import follow

    return follow(GATE_RESPONSES, given)
