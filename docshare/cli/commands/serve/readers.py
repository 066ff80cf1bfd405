"""Print the readers of the files that ``docshare serve`` shares."""

from docshare.cli.commands.events.options import TailOptions
from docshare.cli.commands.events.selection import choose_streams
from docshare.cli.commands.events.tail import follow
from docshare.cli.framework.context import Context, activate
from docshare.contract.streams import DEFAULT_STREAM


def follow_readers(ctx: Context) -> None:
    """Print readers live until stopped."""
    with activate(ctx):
        follow(choose_streams([DEFAULT_STREAM]), TailOptions(backlog=0))
